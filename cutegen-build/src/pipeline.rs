//! The whole build, spec to emitted library, one stage a line. Knows no stage's insides.
//!
//! spec -> plan -> (store hit?) -> generate -> compile -> evaluate -> refine -> accept -> store -> emit. What lies
//! between the question mark and the store is `search`, which a replaying build does not even contain.

use cutegen_spec::lock::Lock;
use cutegen_spec::record::Record;
use cutegen_spec::settings::Mode;

use crate::cargo::Build;
use crate::discover::Project;
use crate::emit::{self, EmitKernel, Emitted, Package};
use crate::error::Error;
use crate::event::Reporter;
use crate::plan::Plan;
use crate::store::replay::{ReplayError, Request, replay};
use crate::store::trust::{BelowGate, hold_to};
use crate::store::{Entry, Store, lock_file};
use crate::warnings;

/// What a build made, and what it read.
#[derive(Debug)]
pub struct Built {
    /// The emitted library.
    pub emitted: Emitted,
    /// The project it was emitted for.
    pub project: Project,
    /// What its user should know, a line each.
    pub warnings: Vec<String>,
}

/// Runs a build script's whole work. Errors of all kernels are collected.
pub fn run(build: &Build, events: &mut dyn Reporter) -> Result<Built, Vec<Error>> {
    let project = Project::package(&build.manifest_dir).map_err(|error| vec![error.into()])?;
    let plans = Plan::all(&project.specs);
    let entries = match mode(build, &project) {
        Mode::Stub => Vec::new(),
        mode @ (Mode::Locked | Mode::Search) => answers(&plans, &project, mode, events)?,
    };
    let kernels = kernels(&plans, &entries);
    let package =
        Package { name: &build.package, version: &build.version, triple: &build.triple, host: &build.host };
    let emitted = match mode(build, &project) {
        Mode::Stub => emit::stub(&package, &plans, &build.out_dir),
        Mode::Locked | Mode::Search => emit::emit(&package, &kernels, &build.out_dir),
    };
    let emitted = emitted.map_err(|error| vec![error.into()])?;
    let warnings = warnings::of(build, (mode(build, &project), &project.settings), &kernels);
    Ok(Built { emitted, project, warnings })
}

fn kernels<'a>(plans: &'a [Plan], entries: &'a [Entry]) -> Vec<EmitKernel<'a>> {
    let pair = |(plan, entry): (&'a Plan, &'a Entry)| EmitKernel {
        plan,
        record: &entry.record,
        artifacts: &entry.artifacts,
    };
    plans.iter().zip(entries).map(pair).collect()
}

/// docs.rs first, then the environment, then the metadata.
fn mode(build: &Build, project: &Project) -> Mode {
    if build.docs_rs { Mode::Stub } else { build.mode.unwrap_or(project.settings.mode) }
}

fn answers(
    plans: &[Plan],
    project: &Project,
    mode: Mode,
    events: &mut dyn Reporter,
) -> Result<Vec<Entry>, Vec<Error>> {
    let lock = lock_file::read(&project.lock).map_err(|error| vec![error.into()])?;
    let store = Store::new(&project.store);
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for plan in plans {
        let found = replay(&request(plan, project, &lock, &store));
        let found = found.or_else(|miss| on_miss(plan, miss, mode, events));
        match found.and_then(|entry| trusted(plan, project, entry)) {
            Ok(entry) => entries.push(entry.dispatched()),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(entries) } else { Err(errors) }
}

/// What the package's `min-gate` lets through, whether it was locked or found.
fn trusted(plan: &Plan, project: &Project, entry: Entry) -> Result<Entry, Error> {
    trust(plan, project, &entry.record)?;
    Ok(entry)
}

/// Whether the evidence of `record` reaches the package's `min-gate`.
pub fn trust(plan: &Plan, project: &Project, record: &Record) -> Result<(), BelowGate> {
    hold_to(project.settings.min_gate, plan.spec.name.as_str(), &plan.target.to_string(), record)
}

/// What a plan asks of its project's lock and store.
#[must_use]
pub fn request<'a>(plan: &'a Plan, project: &'a Project, lock: &'a Lock, store: &'a Store) -> Request<'a> {
    Request {
        kernel: &plan.spec.name,
        target: &plan.target,
        question: &plan.question,
        axes: &plan.spec.axes,
        lock,
        lock_path: &project.lock,
        store,
    }
}

fn on_miss(plan: &Plan, miss: ReplayError, mode: Mode, events: &mut dyn Reporter) -> Result<Entry, Error> {
    match mode {
        Mode::Locked | Mode::Stub => Err(miss.into()),
        Mode::Search => search(plan, miss, events),
    }
}

#[cfg(feature = "search")]
fn search(plan: &Plan, _: ReplayError, events: &mut dyn Reporter) -> Result<Entry, Error> {
    Ok(crate::search::find(plan, events)?)
}

#[cfg(not(feature = "search"))]
fn search(_: &Plan, miss: ReplayError, _: &mut dyn Reporter) -> Result<Entry, Error> {
    Err(Error::NeedsSearch(miss))
}
