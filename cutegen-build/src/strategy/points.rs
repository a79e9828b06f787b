//! Points of an answer that sweeps constants, as strategies take them: one attempt, for which one of its points stands. The others are
//! told of and never gone on from.
//!
//! Invariant: verdicts that come later change no choice that was made.

use super::effort::over;
use crate::run_log::{Content, Log, Outcome, Sequence, Verdict};

/// The kernel that stands for an answer. Of a sweep it is the fastest right point. Where none is right, it is the first of those that
/// got furthest: wrong is further than crashed, crashed further than refused. It is the first point where all are repeats. It is the
/// answer itself where nothing is swept, or some point was not seen yet.
#[must_use]
pub fn chosen(log: &Log, answer: Sequence) -> Sequence {
    let Some(seen) = seen(log, answer) else { return answer };
    let right = seen.iter().copied().filter(|(_, verdict)| verdict.outcome == Outcome::Right);
    let fastest = right.reduce(|best, other| if is_faster(other, best) { other } else { best });
    let furthest =
        || seen.iter().copied().reduce(|one, other| if rank(other) > rank(one) { other } else { one });
    let kernel = fastest.or_else(furthest).map(|(_, verdict)| verdict.candidate);
    kernel.or_else(|| log.points(answer).next().map(|(point, _)| point)).unwrap_or(answer)
}

/// The verdict with which a log goes on where this one stands: itself; the one on the chosen point where it is the last of a sweep's
/// first verdicts; none for those before it and those on other points.
pub(super) fn counted<'a>(log: &'a Log, at: Sequence, verdict: &'a Verdict) -> Option<&'a Verdict> {
    let Some(point) = log.point(verdict.candidate) else { return Some(verdict) };
    let seen = seen(log, point.of)?;
    let last = seen.iter().map(|(place, _)| *place).max()?;
    let chosen = chosen(log, point.of);
    match at.cmp(&last) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => {
            seen.into_iter().map(|(_, verdict)| verdict).find(|verdict| verdict.candidate == chosen)
        }
        std::cmp::Ordering::Greater => (verdict.candidate == chosen).then_some(verdict),
    }
}

/// Whether an answer has a kernel that no judge has seen, or a point that is not written.
pub(super) fn is_open(log: &Log, answer: Sequence) -> bool {
    match log.content(answer) {
        Some(Content::Kernel(_)) => first(log, answer).is_none(),
        Some(Content::Sweep(_)) => seen(log, answer).is_none(),
        Some(Content::Words | Content::Ideas(_) | Content::Repeat { .. } | Content::Unreadable(_)) | None => {
            false
        }
    }
}

/// The speed-up of a right point over another kernel, when it was judged.
#[must_use]
pub fn times(log: &Log, point: Sequence, other: Sequence) -> Option<f64> {
    first(log, point).filter(|(_, verdict)| verdict.outcome.is_right())?.1.facts.over(other)
}

/// What was first seen of each new point of a sweep, with its place; none while something is missing.
fn seen(log: &Log, answer: Sequence) -> Option<Vec<(Sequence, &Verdict)>> {
    let Some(Content::Sweep(sweep)) = log.content(answer) else { return None };
    if log.points(answer).count() < sweep.points as usize {
        return None;
    }
    let new = log.points(answer).map(|(point, _)| point).filter(|point| log.kernel(*point).is_some());
    new.map(|point| first(log, point)).collect()
}

/// The first verdict of more than a compiler that accepts.
fn first(log: &Log, kernel: Sequence) -> Option<(Sequence, &Verdict)> {
    log.verdicts().find(|(_, verdict)| verdict.candidate == kernel && verdict.outcome != Outcome::Compiled)
}

/// By times of one batch, where the two were in one.
fn is_faster((_, one): (Sequence, &Verdict), (_, other): (Sequence, &Verdict)) -> bool {
    let by_naive = || Some(one.facts.over_naive()? / other.facts.over_naive()?);
    over(one, other.candidate, Some(other)).or_else(by_naive).is_some_and(|by| by > 1.0)
}

/// How far a point got that is not right.
fn rank((_, verdict): (Sequence, &Verdict)) -> u8 {
    match verdict.outcome {
        Outcome::Refused | Outcome::Compiled => 0,
        Outcome::Crashed => 1,
        Outcome::Wrong | Outcome::WrongInFull => 2,
        Outcome::Right | Outcome::TooSlow | Outcome::Accepted => 3,
    }
}

#[cfg(test)]
mod tests;
