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

use super::{Next, waits};
use crate::plan::Plan;
use crate::run_log::{Log, Sequence};
pub use settings::SETTINGS;
use settings::Settings;
use state::State;

/// What happens next.
#[must_use]
pub fn next(plan: &Plan, log: &Log) -> Next {
    if let Some(waiting) = unseen(log) {
        return waiting;
    }
    // one request at a time: the last is the one that counts
    if let Some(awaited) = waits::awaited(next, plan, log).pop() {
        return Next::Await(vec![awaited]);
    }
    let settings = Settings::of(plan, log);
    let state = State::of(log, &settings);
    decide::decide(&state).next(|wanted| ask::question(plan, &state, wanted))
}

/// The first kernel that no compiler, or no judge, has seen. Points of one answer are all built, and then judged in one batch.
fn unseen(log: &Log) -> Option<Next> {
    if let Some(answer) = waits::unwritten(log) {
        return Some(Next::Point(answer));
    }
    let (unbuilt, unjudged) = (waits::unbuilt(log), waits::unjudged(log));
    let first = unjudged.first().map(|kernel| log.reply(*kernel));
    match (unbuilt, first) {
        (Some(build), first) if first.is_none_or(|first| first >= log.reply(build)) => {
            Some(Next::Build(build))
        }
        (_, Some(first)) => {
            Some(Next::Judge(unjudged.into_iter().filter(|kernel| log.reply(*kernel) == first).collect()))
        }
        (_, None) => None,
    }
}

/// The best kernel by now.
#[must_use]
pub fn best(plan: &Plan, log: &Log) -> Option<Sequence> {
    State::of(log, &Settings::of(plan, log)).best()
}

#[cfg(test)]
mod tests;
