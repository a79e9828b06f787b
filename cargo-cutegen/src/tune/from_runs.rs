//! Kernels that runs found right, which a search tries beside those of templates: of the user's store, and of the project's logs.
//! A search judges them anew, whatever a log says.

use std::collections::BTreeSet;

use cutegen_build::generate::Candidate;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Log};
use cutegen_build::search::{Searcher, stored};
use cutegen_spec::provenance::is_foreign;
use cutegen_spec::record::Kind;

use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Runs, begun};

/// So many are tried at most: those of the store, then the fastest.
const MOST: usize = 4;

/// The kernels, those of the store first.
pub(super) fn of(
    searcher: &Searcher,
    runs: &Runs,
    plan: &Plan,
    out: &Output,
) -> Result<Vec<Candidate>, Failure> {
    let mut right = Vec::new();
    for log in logs(runs, plan)? {
        if !is_taken(plan, &log) {
            let (title, run) = (plan.title(), &log.start.run);
            out.note(&format!("{title}: run {run} began elsewhere: its host sources are left out"));
            continue;
        }
        right.extend(searcher.right(plan, &log).map_err(|error| Failure::search(&plan.title(), &error))?);
    }
    right.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let fastest = right.into_iter().map(|(_, candidate)| candidate);
    let mut seen = BTreeSet::new();
    let all = in_store(searcher, plan).into_iter().chain(fastest);
    Ok(all.filter(|candidate| seen.insert(candidate.name.clone())).take(MOST).collect())
}

/// Whether there are any.
pub(super) fn are_any(searcher: &Searcher, runs: &Runs, plan: &Plan) -> bool {
    let is_right = |log: &Log| log.verdicts().any(|(_, verdict)| verdict.outcome.is_right());
    let in_log = |logs: Vec<Log>| logs.iter().any(|log| is_taken(plan, log) && is_right(log));
    logs(runs, plan).is_ok_and(in_log) || !in_store(searcher, plan).is_empty()
}

/// What no template wrote of the user store's entry.
fn in_store(searcher: &Searcher, plan: &Plan) -> Vec<Candidate> {
    let Some(entry) = searcher.store().get_full(&plan.key).hit() else { return Vec::new() };
    let all = entry.record.variants.iter().zip(&entry.sources);
    let own = all.filter(|(variant, _)| variant.kind == Kind::Tuned && is_foreign(&variant.origin));
    own.map(|(variant, source)| stored(variant, source)).collect()
}

/// The plan's logs that can be read.
fn logs(runs: &Runs, plan: &Plan) -> Result<Vec<Log>, Failure> {
    let (folder, key) = (runs.of_plan(plan), plan.key.to_string());
    let read = runs.names(plan)?.into_iter().filter_map(|run| run_log::read(&folder, &run).ok());
    // a folder has the keys that begin alike
    Ok(read.filter(|log| log.start.key == key).collect())
}

/// Host code has the rights of what links it: of a run that this user did not begin none is tried.
fn is_taken(plan: &Plan, log: &Log) -> bool {
    !plan.target.is_host() || begun::is_here(&log.start)
}
