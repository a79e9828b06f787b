//! Points of an answer that sweeps constants, in the order of a log. Each is a function of the log before it. A run that was killed
//! between two goes on with the same.

use super::tried;
use crate::generate::proposal::Proposal;
use crate::plan::Plan;
use crate::run_log::{Content, Digest, Kernel, Log, Point, Sequence, Sweep};

/// The next point of an answer. None where the log has all, or the answer sweeps nothing.
#[must_use]
pub fn point(plan: &Plan, log: &Log, answer: Sequence) -> Option<Point> {
    let Some(Content::Sweep(sweep)) = log.content(answer) else { return None };
    let mut points = Proposal::points(plan, &sweep.source, None).ok()?;
    let written = log.points(answer).count();
    if written >= points.len() {
        return None;
    }
    let proposal = points.swap_remove(written);
    let content = match tried::earlier(plan, log, Sequence::MAX, &proposal) {
        Some(of) => Content::Repeat { of },
        None => Content::Kernel(kernel(sweep, &proposal)),
    };
    Some(Point { of: answer, values: proposal.values.into_iter().collect(), content })
}

/// With what the answer says of all of its points.
fn kernel(sweep: &Sweep, proposal: &Proposal) -> Kernel {
    Kernel {
        name: proposal.name(),
        identity: Digest(proposal.identity),
        source: proposal.text.clone(),
        first_line: sweep.first_line,
        hypothesis: sweep.hypothesis.clone(),
        predicted: sweep.predicted,
        hints: sweep.hints.clone(),
    }
}
