//! `check`: whether specs, lock and store agree. Offline, without a GPU; what CI runs.

use std::collections::BTreeSet;

use cutegen_build::discover::Project;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::plan::cost::cost;
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Store, lock_file};
use cutegen_spec::lock::Lock;
use serde::Serialize;

use crate::args::{Check, Command};
use crate::failure::Failure;
use crate::output::Output;
use crate::project;

/// One line of the table.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Row {
    kernel: String,
    target: String,
    family: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_general: Option<String>,
    bytes: f64,
    flops: f64,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Prints the table; fails when anything disagrees.
pub(crate) fn run(command: &Command, verb: &Check, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    project.warnings.iter().for_each(|warning| out.note(warning));
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let store = Store::new(&project.store);
    let plans = project::select(&project, &verb.select)?;
    let rows: Vec<Row> = plans.iter().map(|plan| row(&project, &lock, &store, plan, verb.tuned)).collect();
    let title = ["kernel", "target", "family", "MB", "Mflop", "state"].map(str::to_owned);
    out.table(&title, &rows.iter().map(cells).collect::<Vec<_>>(), &rows);
    let mut problems: Vec<String> = rows.into_iter().filter_map(|row| row.problem).collect();
    if verb.select.kernels.is_empty() && verb.select.target.is_none() {
        problems.extend(orphans(&project, &lock));
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Disagreement(problems.join("\n\n"))) }
}

fn row(project: &Project, lock: &Lock, store: &Store, plan: &Plan, tuned: bool) -> Row {
    let request = request(plan, project, lock, store);
    let (state, problem) = match replay(&request) {
        Ok(entry) if entry.record.is_tuned() => ("tuned", None),
        Ok(_) if tuned => ("untuned", Some(untuned(plan))),
        Ok(_) => ("untuned", None),
        Err(error) => {
            let locked = lock.get(plan.spec.name.as_str(), &plan.target.to_string()).is_some();
            (if locked { "stale" } else { "missing" }, Some(error.to_string()))
        }
    };
    let axes = plan.spec.workloads.first().and_then(|w| plan.spec.bind(&w.axes).ok()).unwrap_or_default();
    let cost = cost(&plan.spec, &plan.schedule, &axes);
    Row {
        kernel: plan.spec.name.to_string(),
        target: plan.target.to_string(),
        family: plan.family.name(),
        why_general: plan.family.why_general().map(str::to_owned),
        bytes: cost.bytes,
        flops: cost.flops,
        state,
        problem: problem.or_else(|| wrong_family(plan)),
    }
}

fn untuned(plan: &Plan) -> String {
    format!("kernel `{}` is untuned\nrun: cargo cutegen tune {}", plan.title(), plan.spec.name)
}

fn wrong_family(plan: &Plan) -> Option<String> {
    let asserted = plan.spec.family.as_deref().filter(|family| *family != plan.family.name())?;
    let why = plan.family.why_general().map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!("kernel `{}` is `{}`, not `{asserted}`{why}", plan.spec.name, plan.family.name()))
}

/// Locked kernels that no spec declares any more.
fn orphans(project: &Project, lock: &Lock) -> Vec<String> {
    let declared: BTreeSet<(String, String)> = Plan::all(&project.specs)
        .iter()
        .map(|plan| (plan.spec.name.to_string(), plan.target.to_string()))
        .collect();
    let orphan = |k: &&cutegen_spec::lock::Locked| !declared.contains(&(k.name.clone(), k.target.clone()));
    let orphans = lock.kernels.iter().filter(orphan);
    orphans
        .map(|k| {
            format!(
                "{} locks kernel `{}` on {}, which no spec declares\nrun: cargo cutegen lock",
                project.lock.display(),
                k.name,
                k.target
            )
        })
        .collect()
}

fn cells(row: &Row) -> Vec<String> {
    vec![
        row.kernel.clone(),
        row.target.clone(),
        row.family.to_owned(),
        format!("{:.3}", row.bytes / 1e6),
        format!("{:.3}", row.flops / 1e6),
        row.state.to_owned(),
    ]
}
