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

use super::{Next, refine, waits};
use crate::plan::Plan;
use crate::run_log::{Log, Outcome, Sequence};
pub use settings::SETTINGS;
use settings::Settings;
use state::State;

/// What happens next.
#[must_use]
pub fn next(plan: &Plan, log: &Log) -> Next {
    if !is_begun(log) {
        return refine::next(plan, log);
    }
    if let Some(step) = waits::at_once(log) {
        return step;
    }
    let settings = Settings::of(&log.start);
    let state = State::of(log, &settings);
    let question = |wanted| ask::question(plan, &state, wanted);
    if let Some(wanted) = decide::under_way(&state) {
        return Next::Ask(question(wanted));
    }
    waiting(plan, log).unwrap_or_else(|| decide::begin(&state).next(question))
}

/// What it waits for: answers first, since a batch is judged once all of it is there. Each one holds a device.
fn waiting(plan: &Plan, log: &Log) -> Option<Next> {
    let (awaited, unjudged) = (waits::awaited(next, plan, log), waits::unjudged(log));
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

/// The best kernel by now.
#[must_use]
pub fn best(plan: &Plan, log: &Log) -> Option<Sequence> {
    if !is_begun(log) {
        return refine::best(plan, log);
    }
    State::of(log, &Settings::of(&log.start)).best()
}

#[cfg(test)]
mod tests;
