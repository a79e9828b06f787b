//! `refine`: one kernel, improved step by step from what was seen of it (CuTeGen, arXiv 2604.01489). [`next`] folds the log into
//! efforts and right kernels, decides by them, and fills the prompt that the decision needs. It reads nothing but plan and log.
//!
//! Invariant: what it asks on a log is what it gives again for [`Next::Await`] once the request stands behind that log.

mod ask;
mod attempts;
mod decide;
mod graph;
mod settings;
mod state;

use super::{Awaited, Next, effort};
use crate::plan::Plan;
use crate::run_log::{Entry, Log};
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
    if let Some(awaited) = pending(plan, log) {
        return Next::Await(vec![awaited]);
    }
    decided(plan, log)
}

fn decided(plan: &Plan, log: &Log) -> Next {
    let settings = Settings::of(plan, log);
    let state = State::of(log, &settings);
    match decide::decide(&state) {
        Decision::Ask(wanted) => Next::Ask(ask::question(plan, &state, wanted)),
        Decision::Accept(candidate) => Next::Accept(candidate),
        Decision::Done(stop) => Next::Done(stop),
    }
}

/// The first kernel that no compiler, or no judge, has seen.
fn unseen(log: &Log) -> Option<Next> {
    let waits = |(sequence, _)| {
        log.kernel(sequence)?;
        match (effort::seen(log, sequence), log.verdict(sequence)) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(Next::Judge(vec![sequence])),
            (None, None) => Some(Next::Build(sequence)),
        }
    };
    log.candidates().find_map(waits)
}

/// The last request, where it has no answer, with its question. One that this program would not have made is none: it is asked
/// anew.
fn pending(plan: &Plan, log: &Log) -> Option<Awaited> {
    let requests = (1..).zip(&log.entries).filter(|(_, entry)| matches!(entry, Entry::Request(_)));
    let (request, _) = requests.last()?;
    if log.answer(request).is_some() {
        return None;
    }
    let before = Log { start: log.start.clone(), entries: log.entries[..request as usize - 1].to_vec() };
    match next(plan, &before) {
        Next::Ask(question) => Some(Awaited { request, question }),
        Next::Await(..) | Next::Build(_) | Next::Judge(_) | Next::Accept(_) | Next::Done(_) => None,
    }
}

#[cfg(test)]
mod tests;
