//! [`of`]: what a run says of the hints that its answers cited, and the hint that it would add. A fold over the log, whatever
//! strategy wrote it: an answer to `optimise` is measured over the kernel that it changed, with the fixes behind it.
//!
//! Invariant: a log with verdicts that a merge brought says nothing.

use std::collections::BTreeSet;

use super::points::chosen;
use super::{GAIN, diagnosis};
use crate::experience::{Context, Credit, Hint, HintId, Machine, Trigger};
use crate::generate::answers;
use crate::plan::Plan;
use crate::run_log::{Ask, Entry, Facts, Log, Outcome, Sequence, Verdict, digest};

/// What an optimisation without a hint must gain to become one.
const WORTH_A_HINT: f64 = 1.1;

/// What a run says of hints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Credits {
    /// Of those that were cited, in the order of the kernels.
    pub credits: Vec<Credit>,
    /// New ones, from hypotheses that no hint gave and that gained. People decide on them.
    pub proposed: Vec<Hint>,
}

/// What a run says of hints.
#[must_use]
pub fn of(plan: &Plan, log: &Log) -> Credits {
    let mut all = Credits::default();
    if log.is_merged() {
        return all;
    }
    for (answer, candidate) in log.candidates() {
        let request = candidate.request.and_then(|request| log.request(request));
        let Some((ask, Some(about))) = request.map(|request| (request.ask, request.about)) else { continue };
        match ask {
            Ask::Optimise | Ask::Variant => optimised(plan, log, (answer, about), &mut all),
            Ask::Diagnose => repaired(log, (&candidate.text, answer, about), &mut all),
            Ask::First | Ask::Patch | Ask::Whole | Ask::Ideas => {}
        }
    }
    all
}

/// An answer that changes a right kernel, with what came of it in the end.
fn optimised(plan: &Plan, log: &Log, (answer, parent): (Sequence, Sequence), all: &mut Credits) {
    let child = last(log, answer);
    let Some(verdict) = seen(log, child) else { return };
    let cited: BTreeSet<HintId> = [chosen(log, answer), child]
        .iter()
        .filter_map(|at| log.kernel(*at))
        .flat_map(|kernel| kernel.hints.clone())
        .collect();
    let gain = gain(log, verdict, parent);
    let is_win = gain.is_some_and(|gain| gain >= GAIN);
    all.credits.extend(cited.iter().map(|hint| Credit { hint: hint.clone(), is_win, gain }));
    if let (true, Some(gain)) = (cited.is_empty(), gain.filter(|gain| *gain >= WORTH_A_HINT)) {
        all.proposed.extend(proposed(plan, log, (answer, parent, gain)));
    }
}

/// Words on a kernel that failed: they win where the change that they describe makes it right.
fn repaired(log: &Log, (words, answer, of): (&str, Sequence, Sequence), all: &mut Credits) {
    let changed = log.candidates().find(|(at, candidate)| {
        let request = candidate.request.and_then(|request| log.request(request));
        *at > answer && request.is_some_and(|request| request.ask == Ask::Patch && request.about == Some(of))
    });
    let Some(verdict) = changed.and_then(|(child, _)| seen(log, whole(log, child))) else { return };
    let is_win = verdict.outcome.is_right();
    let cited = answers::cited(log, words).into_iter();
    all.credits.extend(cited.map(|hint| Credit { hint, is_win, gain: None }));
}

/// The kernel that an answer became: itself, the same as a whole source, or the last fix of it.
fn last(log: &Log, answer: Sequence) -> Sequence {
    let mut at = whole(log, answer);
    while let Some(next) = following(log, at, Ask::Patch) {
        at = whole(log, next);
    }
    at
}

/// An answer, or the whole source that took its place; of a sweep the point that stands for it.
fn whole(log: &Log, answer: Sequence) -> Sequence {
    let mut at = answer;
    while let Some(next) = following(log, at, Ask::Whole) {
        at = next;
    }
    chosen(log, at)
}

/// The last answer to a request of this kind about a candidate.
fn following(log: &Log, about: Sequence, ask: Ask) -> Option<Sequence> {
    let answers = log.candidates().filter(|(at, candidate)| {
        let request = candidate.request.and_then(|request| log.request(request));
        *at > about && request.is_some_and(|request| request.ask == ask && request.about == Some(about))
    });
    answers.last().map(|(at, _)| at)
}

/// The first verdict of more than a compiler that accepts.
fn seen(log: &Log, candidate: Sequence) -> Option<&Verdict> {
    let mut of = log.verdicts().map(|(_, verdict)| verdict).filter(|verdict| verdict.candidate == candidate);
    of.find(|verdict| verdict.outcome != Outcome::Compiled)
}

/// The speed-up of a right child over its parent, by times of one batch.
fn gain(log: &Log, child: &Verdict, parent: Sequence) -> Option<f64> {
    let in_batch = || {
        let batch = &child.judge.as_ref()?.batch;
        let is_beside = |verdict: &&Verdict| {
            verdict.candidate == parent && verdict.judge.as_ref().is_some_and(|judge| judge.batch == *batch)
        };
        let beside = log.verdicts().map(|(_, verdict)| verdict).find(is_beside)?;
        Some(child.facts.over_naive()? / beside.facts.over_naive()?)
    };
    child.facts.over(parent).or_else(in_batch).filter(|_| child.outcome.is_right())
}

/// The hypothesis of an answer as a hint, where it has plain characters.
fn proposed(plan: &Plan, log: &Log, (answer, parent, gain): (Sequence, Sequence, f64)) -> Option<Hint> {
    let hypothesis = log.kernel(chosen(log, answer))?.hypothesis.as_deref()?.replace('`', "");
    let hint = hypothesis.trim().to_owned();
    Hint::check(&hint).ok()?;
    let on = if plan.target.is_host() { Machine::Host } else { Machine::Gpu };
    Some(Hint {
        id: HintId::parse(&format!("r-{}", &digest(&hint).to_string()[..8])).ok()?,
        trigger: vec![bound(plan, log, parent)?],
        context: Context { classes: vec![plan.family.name().to_owned()], on, ..Context::default() },
        hint,
        uses: 1,
        wins: 1,
        timed: 1,
        mean_gain: (gain * 1e6).round() / 1e6,
        from: Some(format!("{}, attempt {answer}", log.start.run)),
    })
}

/// What was seen of the kernel that was changed.
fn bound(plan: &Plan, log: &Log, parent: Sequence) -> Option<Trigger> {
    let none = Facts::default();
    let right = log.entries.iter().rev().find_map(|entry| match entry {
        Entry::Verdict(verdict) if verdict.candidate == parent && verdict.outcome == Outcome::Right => {
            Some(&verdict.facts)
        }
        Entry::Verdict(_) | Entry::Request(_) | Entry::Candidate(_) | Entry::Point(_) => None,
    });
    diagnosis::of(plan, Outcome::Right, right.unwrap_or(&none))
}
