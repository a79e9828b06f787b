//! `islands`: populations by role, each with its own best kernel and its own hints, beside an archive of all ways to build the kernel
//! (KernelFoundry, arXiv 2603.12440; Kernel Foundry, arXiv 2605.30359). [`next`] folds the log into steps and islands, decides by
//! them, and fills the prompt that the decision needs. It reads nothing but plan and log.
//!
//! Invariant: what it asks on a log is what it gives again for [`Next::Await`] once the request stands behind that log.

mod archive;
mod ask;
mod cell;
mod decide;
pub mod nearest;
mod settings;
mod state;
mod step;

use super::{Awaited, Next, Stop};
use crate::plan::Plan;
use crate::run_log::{Log, Outcome, Sequence};
use decide::Decision;
pub use settings::SETTINGS;
use settings::Settings;
use state::State;

/// What happens next.
#[must_use]
pub fn next(plan: &Plan, log: &Log) -> Next {
    if let Some(waiting) = unseen(log) {
        return waiting;
    }
    let settings = Settings::of(log);
    let state = State::of(log, &settings);
    match decide::decide(&state) {
        Decision::Ask(wanted) => Next::Ask(ask::question(plan, &state, wanted)),
        Decision::Await(requests) => awaited(plan, log, &requests),
        Decision::Accept(candidate) => Next::Accept(candidate),
        Decision::Done(stop) => Next::Done(stop),
    }
}

/// Kernels that no compiler, or no judge, has seen: each is compiled first, then all are judged in one batch.
fn unseen(log: &Log) -> Option<Next> {
    let kernels =
        || log.candidates().map(|(kernel, _)| kernel).filter(|kernel| log.kernel(*kernel).is_some());
    if let Some(kernel) = kernels().find(|kernel| log.verdict(*kernel).is_none()) {
        return Some(Next::Build(kernel));
    }
    let is_compiled = |kernel: &Sequence| {
        log.verdicts()
            .filter(|(_, verdict)| verdict.candidate == *kernel)
            .all(|(_, verdict)| verdict.outcome == Outcome::Compiled)
    };
    let compiled: Vec<Sequence> = kernels().filter(is_compiled).collect();
    (!compiled.is_empty()).then_some(Next::Judge(compiled))
}

/// Requests without an answer, each with its question by the log before it.
fn awaited(plan: &Plan, log: &Log, requests: &[Sequence]) -> Next {
    let question = |request: &Sequence| {
        let entries = log.entries[..*request as usize - 1].to_vec();
        match next(plan, &Log { start: log.start.clone(), entries }) {
            Next::Ask(question) => Some(Awaited { request: *request, question }),
            Next::Await(_) | Next::Build(_) | Next::Judge(_) | Next::Accept(_) | Next::Done(_) => None,
        }
    };
    let awaited: Vec<Awaited> = requests.iter().filter_map(question).collect();
    // what this program would not have asked is not waited for
    if awaited.is_empty() { Next::Done(Stop::Budget) } else { Next::Await(awaited) }
}

#[cfg(test)]
mod tests;
