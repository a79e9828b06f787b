//! [`Decision`]: what a strategy does next where nothing waits, in its own terms, and how a run comes to its end.

use super::effort::was;
use super::{ENOUGH, Next, Question, Stop};
use crate::run_log::{Log, Outcome, Sequence, Verdict};

/// What happens next, with what is wanted of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision<Wanted> {
    Ask(Wanted),
    Accept(Sequence),
    Done(Stop),
}

impl<Wanted> Decision<Wanted> {
    /// The best kernel goes through the whole gate, once; then the run is over.
    pub(super) fn finish(log: &Log, best: Option<Sequence>, stop: Stop) -> Self {
        match best {
            None => Self::Done(Stop::NoKernel),
            Some(best) if [Outcome::Accepted, Outcome::TooSlow].iter().any(|end| was(log, best, *end)) => {
                Self::Done(stop)
            }
            Some(best) => Self::Accept(best),
        }
    }

    /// The same with the question in place of what is wanted.
    pub(super) fn next(self, question: impl FnOnce(Wanted) -> Question) -> Next {
        match self {
            Self::Ask(wanted) => Next::Ask(question(wanted)),
            Self::Accept(candidate) => Next::Accept(candidate),
            Self::Done(stop) => Next::Done(stop),
        }
    }
}

/// Whether the best kernel is as fast as was asked. Not once the gate calls it too slow.
pub(super) fn is_enough(log: &Log, best: Sequence, right: Option<&Verdict>) -> bool {
    let enough = log.start.setting(ENOUGH, f64::INFINITY);
    let over_naive = right.and_then(|verdict| verdict.facts.over_naive());
    over_naive.is_some_and(|by| by > enough) && !was(log, best, Outcome::TooSlow)
}
