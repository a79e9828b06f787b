//! What a log waits for: points that are not written, kernels that no compiler or no judge has seen, and requests without an answer.
//! Knows no strategy's terms.

use super::effort::seen;
use super::{Awaited, Next};
use crate::plan::Plan;
use crate::run_log::{Content, Entry, Log, Sequence};

/// The first step that needs no answer and no device: a point to write, or a kernel to compile.
pub(super) fn at_once(log: &Log) -> Option<Next> {
    unwritten(log).map(Next::Point).or_else(|| unbuilt(log).map(Next::Build))
}

/// The first answer that sweeps constants and has points that are not written.
pub(super) fn unwritten(log: &Log) -> Option<Sequence> {
    let mut sweeps = log.candidates().filter_map(|(answer, candidate)| match &candidate.content {
        Content::Sweep(sweep) => Some((answer, sweep.points as usize)),
        _ => None,
    });
    sweeps.find(|(answer, points)| log.points(*answer).count() < *points).map(|(answer, _)| answer)
}

/// The first kernel that no compiler has seen.
pub(super) fn unbuilt(log: &Log) -> Option<Sequence> {
    kernels(log).find(|kernel| log.verdict(*kernel).is_none())
}

/// Kernels that compile and that no judge has seen, in order: a batch.
pub(super) fn unjudged(log: &Log) -> Vec<Sequence> {
    kernels(log).filter(|kernel| log.verdict(*kernel).is_some() && seen(log, *kernel).is_none()).collect()
}

/// Requests without an answer, each with its question by the log before it. One that this program would not have made is not
/// waited for.
pub(super) fn awaited(next: fn(&Plan, &Log) -> Next, plan: &Plan, log: &Log) -> Vec<Awaited> {
    let requests = (1..).zip(&log.entries).filter(|(_, entry)| matches!(entry, Entry::Request(_)));
    let open = requests.map(|(request, _)| request).filter(|request| log.answer(*request).is_none());
    open.filter_map(|request| asked(next, plan, log, request)).collect()
}

fn asked(next: fn(&Plan, &Log) -> Next, plan: &Plan, log: &Log, request: Sequence) -> Option<Awaited> {
    let before = Log { start: log.start.clone(), entries: log.entries[..request as usize - 1].to_vec() };
    match next(plan, &before) {
        Next::Ask(question) => Some(Awaited { request, question }),
        Next::Await(_)
        | Next::Point(_)
        | Next::Build(_)
        | Next::Judge(_)
        | Next::Accept(_)
        | Next::Done(_) => None,
    }
}

fn kernels(log: &Log) -> impl Iterator<Item = Sequence> {
    log.kernels().map(|(sequence, _)| sequence)
}
