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
use crate::run_log::Log;
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

/// The first kernel that no compiler, or no judge, has seen.
fn unseen(log: &Log) -> Option<Next> {
    let (unbuilt, unjudged) = (waits::unbuilt(log), waits::unjudged(log).first().copied());
    match (unbuilt, unjudged) {
        (Some(build), Some(judge)) if judge < build => Some(Next::Judge(vec![judge])),
        (Some(build), _) => Some(Next::Build(build)),
        (None, judge) => judge.map(|judge| Next::Judge(vec![judge])),
    }
}

#[cfg(test)]
mod tests;
