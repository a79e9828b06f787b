//! `branch`: ideas in words, several kernels of each, the best few of which seed the next round (Stanford CRFM, fast kernels, 2025).
//! [`next`] folds the log into rounds and right kernels, decides by them, and fills the prompt that the decision needs. It reads
//! nothing but plan and log. The first right kernel comes as in [`refine`].
//!
//! Invariant: what it asks on a log is what it gives again for [`Next::Await`] once the request stands behind that log.

mod ask;
mod attempts;
pub mod bank;
mod decide;
mod settings;
mod state;

use super::{Awaited, Next, refine};
use crate::plan::Plan;
use crate::run_log::{Entry, Log, Outcome, Sequence};
use decide::Decision;
pub use settings::SETTINGS;
use settings::Settings;
use state::{State, is_unjudged};

/// What happens next.
#[must_use]
pub fn next(plan: &Plan, log: &Log) -> Next {
    if !is_begun(log) {
        return refine::next(plan, log);
    }
    if let Some(kernel) = kernels(log).find(|kernel| log.verdict(*kernel).is_none()) {
        return Next::Build(kernel);
    }
    let settings = Settings::of(&log.start);
    let state = State::of(log, &settings);
    let ask = |wanted| Next::Ask(ask::question(plan, &state, wanted));
    if let Some(wanted) = decide::under_way(&state) {
        return ask(wanted);
    }
    waiting(plan, log).unwrap_or_else(|| match decide::begin(&state) {
        Decision::Ask(wanted) => ask(wanted),
        Decision::Accept(candidate) => Next::Accept(candidate),
        Decision::Done(stop) => Next::Done(stop),
    })
}

/// What it waits for: answers first, since a batch is judged once all of it is there. Each one holds a device.
fn waiting(plan: &Plan, log: &Log) -> Option<Next> {
    let awaited: Vec<Awaited> = open(log).filter_map(|request| awaited(plan, log, request)).collect();
    let unjudged: Vec<Sequence> = kernels(log).filter(|kernel| is_unjudged(log, *kernel)).collect();
    match (awaited.is_empty(), unjudged.is_empty()) {
        (false, _) => Some(Next::Await(awaited)),
        (true, false) => Some(Next::Judge(unjudged)),
        (true, true) => None,
    }
}

/// Whether a start is behind it: a kernel was right.
fn is_begun(log: &Log) -> bool {
    log.verdicts().any(|(_, verdict)| verdict.outcome == Outcome::Right)
}

fn kernels(log: &Log) -> impl Iterator<Item = Sequence> {
    log.candidates().map(|(sequence, _)| sequence).filter(|at| log.kernel(*at).is_some())
}

/// Requests without an answer.
fn open(log: &Log) -> impl Iterator<Item = Sequence> {
    let requests = (1..).zip(&log.entries).filter(|(_, entry)| matches!(entry, Entry::Request(_)));
    requests.map(|(request, _)| request).filter(|request| log.answer(*request).is_none())
}

/// A request with its question, by the log before it. One that this program would not have made is not waited for.
fn awaited(plan: &Plan, log: &Log, request: Sequence) -> Option<Awaited> {
    let before = Log { start: log.start.clone(), entries: log.entries[..request as usize - 1].to_vec() };
    match next(plan, &before) {
        Next::Ask(question) => Some(Awaited { request, question }),
        Next::Await(_) | Next::Build(_) | Next::Judge(_) | Next::Accept(_) | Next::Done(_) => None,
    }
}

#[cfg(test)]
mod tests;
