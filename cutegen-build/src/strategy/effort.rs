//! [`Effort`]: the requests that belong together, from the one for a kernel to the kernel that comes of it, and where they stand.
//! What an effort is for is a strategy's own. Knows entries of the log, and no prompt.

use super::points;
use crate::run_log::{Ask, Content, Log, Outcome, Sequence, Verdict};

/// Requests that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effort<Aim> {
    /// What it is for.
    pub aim: Aim,
    /// In order; at least one. The first is for the kernel, or for what is wrong with the refuted one.
    pub requests: Vec<Sequence>,
    /// The last answer.
    pub answer: Option<Sequence>,
}

/// What is to be asked next in an effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// The same as that request, whose answer repeats this attempt.
    Again { request: Sequence, repeated: Option<Sequence> },
    /// This answer as a whole source.
    Whole(Sequence),
    /// Why this kernel failed.
    Diagnose(Sequence),
    /// The change to this kernel that the last words on it describe.
    Patch(Sequence),
}

/// Where an effort stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// It goes on so.
    Open(Move),
    /// This kernel came of it.
    Right(Sequence),
    /// This failed, and nothing is left to try; none where nothing came.
    Failed(Option<Sequence>),
}

impl<Aim> Effort<Aim> {
    /// Requests that correct an answer: all but the first and those for words.
    pub(super) fn fixes(&self, log: &Log) -> usize {
        let is_fix = |request: &&Sequence| log.request(**request).is_some_and(|r| r.ask != Ask::Diagnose);
        self.requests[1..].iter().filter(is_fix).count()
    }

    /// Where it stands when so many fixes are allowed.
    pub(super) fn stand(&self, log: &Log, fixes: usize) -> Stand {
        let last = *self.requests.last().expect("an effort begins with a request");
        let Some(answer) = self.answer else {
            return Stand::Open(Move::Again { request: last, repeated: None });
        };
        let is_open = self.fixes(log) < fixes;
        let go_on = |to| if is_open { Stand::Open(to) } else { Stand::Failed(Some(answer)) };
        let Some(request) = log.request(last) else { return Stand::Failed(None) };
        if let (Ask::Diagnose, Some(kernel)) = (request.ask, request.about) {
            return go_on(Move::Patch(kernel));
        }
        let kernel = points::chosen(log, answer);
        match log.content(kernel) {
            Some(Content::Repeat { of }) => go_on(Move::Again { request: last, repeated: Some(*of) }),
            Some(Content::Kernel(_)) if was(log, kernel, Outcome::Right) => Stand::Right(kernel),
            Some(Content::Kernel(_)) => go_on(Move::Diagnose(kernel)),
            // nothing is asked about a sweep before all of its points were seen
            Some(Content::Sweep(_) | Content::Words | Content::Ideas(_) | Content::Unreadable(_)) | None => {
                go_on(Move::Whole(answer))
            }
        }
    }
}

/// The last verdict of more than a compiler that accepts.
pub(super) fn seen(log: &Log, candidate: Sequence) -> Option<&Verdict> {
    let of = |(_, verdict): &(Sequence, &Verdict)| {
        verdict.candidate == candidate && verdict.outcome != Outcome::Compiled
    };
    log.verdicts().filter(of).last().map(|(_, verdict)| verdict)
}

/// Whether this was once the verdict on a candidate.
pub(super) fn was(log: &Log, candidate: Sequence, outcome: Outcome) -> bool {
    log.verdicts().any(|(_, verdict)| verdict.candidate == candidate && verdict.outcome == outcome)
}

/// The speed-up of a right kernel over another one, by times of one batch.
pub(super) fn over(own: &Verdict, other: Sequence, others: Option<&Verdict>) -> Option<f64> {
    let in_batch = || {
        let others = others?;
        let [batch, of_other] = [own, others].map(|verdict| verdict.judge.as_ref().map(|judge| &judge.batch));
        let is_one = batch.is_some() && batch == of_other;
        is_one.then_some(own.facts.over_naive()? / others.facts.over_naive()?)
    };
    own.facts.over(other).or_else(in_batch)
}
