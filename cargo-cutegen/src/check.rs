//! `check`: whether specs, lock and store agree, and what each kernel costs. Offline, without a GPU; what CI runs.

pub(crate) mod table;
mod warnings;

use std::collections::BTreeMap;

use cutegen_build::discover::Project;
use cutegen_build::emit::{EmitKernel, linkable};
use cutegen_build::generate::template;
use cutegen_build::pipeline::{request, trust};
use cutegen_build::plan::cost::cost;
use cutegen_build::plan::{Plan, roofline};
use cutegen_build::store::replay::{Cause, ReplayError, repair, replay};
use cutegen_build::store::trust::{Doubt, doubts, has_filled, has_judged};
use cutegen_build::store::{Entry, Lookup, Store, lock_file, unlocked};
use cutegen_spec::axis::Extent;
use cutegen_spec::lock::State;
use cutegen_spec::record::{GATE, Record, Tile, Variant};
use cutegen_spec::workload::Workload;
use serde::Serialize;

use crate::args::{Check, Command};
use crate::failure::{Failure, Failures};
use crate::host_sources;
use crate::lock::orphans;
use crate::output::Output;
use crate::project::{self, members};
use table::{Ceiling, Launched, Row, Work};

/// A row, and whose.
#[derive(Serialize)]
struct Whose<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<&'a str>,
    #[serde(flatten)]
    row: &'a Row,
}

/// Prints the table; fails when anything disagrees.
pub(crate) fn run(command: &Command, verb: &Check, out: &Output) -> Result<(), Failure> {
    if verb.workspace {
        return workspace(command, verb, out);
    }
    let project = project::open_with_lock(command)?;
    let beside = if verb.select.is_all() { members::beside(&project) } else { Vec::new() };
    let checked = one(project, verb, out);
    if !beside.is_empty() {
        let names = beside.join(", ");
        out.note(&format!("not checked, of this workspace: {names}\nrun: cargo cutegen check --workspace"));
    }
    checked
}

/// The same of every package of the workspace that has kernels or locks some.
fn workspace(command: &Command, verb: &Check, out: &Output) -> Result<(), Failure> {
    let mut failed = Failures::default();
    for member in members::concerned(command)? {
        out.remark(&format!("package {}", member.name));
        let place = format!("{} -p {}", command.place(), member.name);
        let checked = member.into_project().and_then(|project| one(project, verb, out));
        checked.err().into_iter().for_each(|failure| failed.add(failure.at(&place)));
    }
    failed.end("")
}

fn one(mut project: Project, verb: &Check, out: &Output) -> Result<(), Failure> {
    project.settings.min_gate = project.settings.min_gate.max(verb.min_gate);
    project.settings.host_sources.extend(verb.host_source.iter().cloned());
    project.warnings.iter().for_each(|warning| out.note(warning));
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let store = Store::new(&project.store);
    let plans = project::select_or_none(&project, &verb.select)?;
    let (mut rows, mut missed) = (Vec::new(), Vec::new());
    for plan in &plans {
        let replayed = replay(&request(plan, &project, &lock, &store));
        rows.push(row(&project, &store, plan, &replayed, verb.tuned));
        missed.extend(replayed.err());
    }
    print(&project, &rows, out);
    let mut problems = unlocked::told(&missed);
    let others = rows.into_iter().filter(|row| !matches!(row.state, MISSING | STALE));
    problems.extend(others.filter_map(|row| row.problem));
    if verb.select.is_all() {
        problems.extend(orphans::none(&project, &lock).err().map(|failure| failure.to_string()));
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Disagreement(problems.join("\n\n"))) }
}

fn print(project: &Project, rows: &[Row], out: &Output) {
    let package = project.package.as_ref().map(|package| package.name.as_str());
    let values: Vec<Whose<'_>> = rows.iter().map(|row| Whose { package, row }).collect();
    out.table(&table::title(), &table::lines(rows), &values);
    table::reasons(rows).iter().for_each(|reason| out.remark(reason));
    table::unfilled(rows).iter().for_each(|reason| out.remark(reason));
    warnings::lines(rows).iter().for_each(|warning| out.remark(warning));
}

/// States of what cannot be replayed.
const MISSING: &str = "missing";
const STALE: &str = "stale";

fn row(
    project: &Project,
    store: &Store,
    plan: &Plan,
    replayed: &Result<Entry, ReplayError>,
    tuned: bool,
) -> Row {
    let record = replayed.as_ref().ok().map(|entry| &entry.record);
    let (state, stale, problem) = match replayed {
        Ok(entry) => {
            let state = State::of(&entry.record);
            let wanting = (tuned && state != State::Tuned).then(|| untuned(plan, state));
            (
                state.name(),
                None,
                unlinkable(plan, entry).or_else(|| sources(store, plan, &entry.record)).or(wanting),
            )
        }
        Err(error) => {
            let stale = stale(&error.cause);
            (if stale.is_some() { STALE } else { MISSING }, stale, Some(error.to_string()))
        }
    };
    Row {
        kernel: plan.spec.name.to_string(),
        target: plan.target.to_string(),
        family: plan.family.name(),
        why_general: why_general(plan).map(str::to_owned),
        why_unfilled: why_unfilled(plan, record),
        state,
        stale,
        workloads: plan.spec.workloads.iter().filter_map(|workload| work(plan, workload, record)).collect(),
        most_workspace: record.and_then(|record| most_scratch(plan, record)),
        doubts: record.map(|record| doubted(plan, record)).unwrap_or_default(),
        problem: problem
            .or_else(|| host_sources::problem(project, plan, record?))
            .or_else(|| trust(plan, project, record?).err().map(|below| below.to_string()))
            .or_else(|| wrong_family(plan)),
    }
}

/// Why a kernel is in no faster family, unless templates fill it in parts.
fn why_general(plan: &Plan) -> Option<&str> {
    plan.family.why_general().filter(|_| template::unfilled(plan).is_some())
}

/// Why no search will find anything; of a general kernel its family says it.
fn why_unfilled(plan: &Plan, record: Option<&Record>) -> Option<String> {
    let is_open = plan.family.why_general().is_none() && !record.is_some_and(Record::is_tuned);
    is_open.then(|| template::unfilled(plan)).flatten()
}

/// What a build would say of an entry's host objects.
fn unlinkable(plan: &Plan, entry: &Entry) -> Option<String> {
    let kernel = EmitKernel { plan, record: &entry.record, artifacts: &entry.artifacts };
    linkable(&kernel).err().map(|error| error.to_string())
}

/// What is wrong with an entry's sources, which no build reads, but people do who want to know what they link.
fn sources(store: &Store, plan: &Plan, record: &Record) -> Option<String> {
    let Lookup::Corrupt(corrupt) = store.get_full(&plan.key) else { return None };
    let (title, state) = (plan.title(), State::of(record));
    let repair = repair(plan.spec.name.as_str(), state, &corrupt.path);
    Some(format!("{title}: its sources cannot be trusted\n  {corrupt}\n{repair}"))
}

/// What may be said against the evidence, by this program's gate and today's workloads.
pub(crate) fn doubted(plan: &Plan, record: &Record) -> Vec<Doubt> {
    let declared: Vec<_> = plan.spec.workloads.iter().map(|workload| workload.axes.clone()).collect();
    let mut doubts = doubts(record, &plan.target, &declared, GATE);
    doubts.extend(declared.into_iter().filter_map(|workload| not_judged_at(plan, record, workload)));
    doubts.extend(record.variants.iter().flat_map(|variant| tiles_not_filled(plan, variant)));
    doubts
}

/// Tiles of a judged variant that can be filled, and that no shape of its evidence fills.
fn tiles_not_filled(plan: &Plan, variant: &Variant) -> Vec<Doubt> {
    let Some(evidence) = variant.judged() else { return Vec::new() };
    let open = |tile: &Tile| {
        let axis = plan.spec.axes.get(tile.axis)?;
        let Extent::Range { hi, .. } = axis.extent else { return None };
        let is_open = tile.extent <= hi && !has_filled(evidence, &axis.name, tile.extent);
        let (variant, axis) = (variant.name.clone(), axis.name.clone());
        is_open.then_some(Doubt::TileNotFilled { variant, axis, extent: tile.extent })
    };
    variant.tiles.iter().filter_map(open).collect()
}

/// Where the variant that a workload gets was judged, but never there.
fn not_judged_at(plan: &Plan, record: &Record, workload: BTreeMap<String, i64>) -> Option<Doubt> {
    let axes = plan.spec.bind(&workload).ok()?;
    let variant = dispatched(plan, record, &axes)?;
    let is_open = !has_judged(variant.judged()?, &workload);
    is_open.then(|| Doubt::WorkloadNotJudged { variant: variant.name.clone(), workload })
}

/// The variant that well-aligned tensors get from a build.
fn dispatched<'a>(plan: &Plan, record: &'a Record, axes: &[i64]) -> Option<&'a Variant> {
    let all: Vec<&Variant> = record.variants.iter().filter(|variant| variant.is_dispatched()).collect();
    all.get(record.dispatched().choose(axes, &vec![0; plan.spec.tensors.len()])?).copied()
}

/// What is wrong with what the lock pins; `None` when it pins nothing.
fn stale(cause: &Cause) -> Option<String> {
    match cause {
        Cause::NotLocked { .. } => None,
        Cause::KeyMoved { fields, .. } if fields.is_empty() => Some("another question".to_owned()),
        Cause::KeyMoved { fields, .. } => {
            let names: Vec<&str> = fields.iter().map(|moved| moved.field.as_str()).collect();
            Some(format!("{} moved", names.join(", ")))
        }
        Cause::EntryMissing { .. } => Some("not in the store".to_owned()),
        Cause::EntryCorrupt(_) => Some("corrupt".to_owned()),
        Cause::BytesDiffer { .. } => Some("other bytes".to_owned()),
        _ => Some("not usable".to_owned()),
    }
}

/// The numbers of one workload; none when its derived axes do not come out.
fn work(plan: &Plan, workload: &Workload, record: Option<&Record>) -> Option<Work> {
    let axes = plan.spec.bind(&workload.axes).ok()?;
    let cost = cost(&plan.spec, &plan.schedule, &axes);
    let roof = roofline::roof(plan, &cost).map(|(roof, device)| Ceiling {
        micros: roof.micros,
        bound: roof.bound.name(),
        device: device.device,
    });
    let chosen = record.and_then(|record| dispatched(plan, record, &axes));
    Some(Work {
        axes: workload.axes.clone(),
        is_declared: workload.declared,
        bytes: cost.bytes,
        flops: cost.flops,
        intensity: if cost.bytes > 0.0 { cost.flops / cost.bytes } else { 0.0 },
        roof,
        workspace: chosen.and_then(|variant| scratch(variant, &axes)),
        launched: chosen
            .filter(|_| record.is_some_and(Record::is_tuned))
            .map(|variant| launched(variant, workload)),
    })
}

/// Bytes of workspace that a launch needs.
fn scratch(variant: &Variant, axes: &[i64]) -> Option<i64> {
    variant.contract.workspace_layout(axes).ok().map(|layout| layout.total())
}

/// The most that any launch needs, whichever variant it gets where that is eligible; none where that is beyond 64 bits.
fn most_scratch(plan: &Plan, record: &Record) -> Option<i64> {
    let most = |variant| scratch(variant, &variant.eligibility.largest(&plan.spec.axes)?);
    let all: Option<Vec<i64>> = record.variants.iter().map(most).collect();
    all?.into_iter().max()
}

/// What was measured of the variant that a workload gets.
fn launched(variant: &Variant, workload: &Workload) -> Launched {
    let timings = variant.judged().into_iter().flat_map(|evidence| &evidence.timings);
    let here = timings.filter(|timing| timing.workload == workload.axes);
    // of several incumbents the strongest one tells most
    let timing = here.min_by(|a, b| a.speedup.total_cmp(&b.speedup));
    Launched {
        variant: variant.name.clone(),
        micros: timing.map(|timing| timing.micros),
        speedup: timing.map(|timing| timing.speedup),
        incumbent: timing.map(|timing| timing.incumbent.clone()),
    }
}

fn untuned(plan: &Plan, state: State) -> String {
    let (title, name, state) = (plan.title(), &plan.spec.name, state.name());
    match template::unfilled(plan) {
        None => format!("kernel `{title}` is {state}\nrun: cargo cutegen tune {name}"),
        Some(why) => format!(
            "kernel `{title}` is {state}: no template fills this: {why}\nname the others, or leave --tuned out: \
             cargo cutegen check {name}"
        ),
    }
}

fn wrong_family(plan: &Plan) -> Option<String> {
    let asserted = plan.spec.family.as_deref().filter(|family| !plan.family.is(family))?;
    let why = plan.family.why_general().map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!("kernel `{}` is `{}`, not `{asserted}`{why}", plan.spec.name, plan.family.name()))
}
