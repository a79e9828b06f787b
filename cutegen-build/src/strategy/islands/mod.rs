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

use super::{Next, Stop, waits};
use crate::plan::Plan;
use crate::run_log::{Log, Sequence};
pub use settings::SETTINGS;
use settings::Settings;
use state::State;

/// What happens next.
#[must_use]
pub fn next(plan: &Plan, log: &Log) -> Next {
    if let Some(step) = waits::at_once(log) {
        return step;
    }
    let unjudged = waits::unjudged(log);
    if !unjudged.is_empty() {
        return Next::Judge(unjudged);
    }
    let settings = Settings::of(log);
    let state = State::of(log, &settings);
    match decide::decide(&state) {
        Some(decision) => decision.next(|wanted| ask::question(plan, &state, wanted)),
        None => match waits::awaited(next, plan, log) {
            // what this program would not have asked is not waited for
            none if none.is_empty() => Next::Done(Stop::Budget),
            awaited => Next::Await(awaited),
        },
    }
}

/// The best kernel by now.
#[must_use]
pub fn best(_: &Plan, log: &Log) -> Option<Sequence> {
    State::of(log, &Settings::of(log)).best()
}

#[cfg(test)]
mod tests;
