//! [`History`]: what a log tells, in the order in which it happened, as it is printed. Pure: the same log gives the same history.

use cutegen_build::run_log::{self, Ask, Content, Entry, Facts, Log, Outcome, Sequence, Start};
use cutegen_build::strategy::points::chosen;
use serde::Serialize;
use similar::TextDiff;

use super::ideas::{Tried, tried};
use super::lineage::{parent, speed, times_over};
use super::totals::{Totals, totals};

/// What a kernel must gain over the best one to take its place.
const GAIN: f64 = 1.01;

/// A run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct History<'a> {
    pub(super) start: &'a Start,
    /// What scores are speed-ups over.
    pub(super) scored_over: Yardstick,
    pub(super) totals: Totals<'a>,
    pub(super) steps: Vec<Step<'a>>,
    /// Of strategies that ask for ideas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ideas: Vec<Tried<'a>>,
    pub(super) changes: Vec<Change<'a>>,
}

/// What scores are speed-ups over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Yardstick {
    /// The naive kernel.
    Naive,
    /// The first right kernel, where the naive one was never timed.
    First,
}

/// A request with its answer, or a kernel that was submitted unasked.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Step<'a> {
    /// The request's place in the log; the candidate's, where nothing was asked.
    pub(super) sequence: Sequence,
    /// None for what was submitted.
    pub(super) ask: Option<Ask>,
    pub(super) about: Option<Sequence>,
    pub(super) candidate: Option<Sequence>,
    pub(super) name: Option<&'a str>,
    pub(super) by: Option<&'a str>,
    pub(super) outcome: String,
    pub(super) reason: Option<String>,
    pub(super) score: Option<f64>,
    /// The right kernel that it changes.
    pub(super) parent: Option<Sequence>,
    pub(super) over_parent: Option<f64>,
    pub(super) predicted: Option<f64>,
    pub(super) roofline: Option<f64>,
    pub(super) hypothesis: Option<&'a str>,
    /// The best kernel behind this step.
    pub(super) best: Option<Best>,
    /// Of an answer that sweeps constants; the candidate is one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) points: Vec<Point>,
}

/// A choice of values for what an answer sweeps.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Point {
    pub(super) candidate: Sequence,
    pub(super) values: String,
    pub(super) outcome: String,
    pub(super) reason: Option<String>,
    pub(super) score: Option<f64>,
}

/// A best kernel so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Best {
    pub(super) candidate: Sequence,
    pub(super) score: f64,
}

/// How a kernel that became the best one differs from its parent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Change<'a> {
    pub(super) candidate: Sequence,
    pub(super) name: &'a str,
    pub(super) parent: Sequence,
    pub(super) parent_name: &'a str,
    pub(super) over_parent: Option<f64>,
    pub(super) diff: String,
}

impl<'a> History<'a> {
    /// What a log tells.
    pub(super) fn of(log: &'a Log) -> Self {
        let scores = Scores::of(log);
        let mut steps: Vec<Step<'a>> = Vec::new();
        let (mut best, mut changes) = (None, Vec::new());
        for (sequence, entry) in (1..).zip(&log.entries) {
            let Some(mut step) = step(log, sequence, entry, &scores) else { continue };
            if scores.is_better(log, &step, best) {
                best = step.candidate.zip(step.score).map(|(candidate, score)| Best { candidate, score });
                changes.extend(change(log, &step));
            }
            step.best = best;
            steps.push(step);
        }
        let totals = totals(log, &steps);
        let ideas = tried(log);
        Self { start: &log.start, scored_over: scores.over, totals, steps, ideas, changes }
    }
}

/// How fast kernels are.
struct Scores<'a> {
    over: Yardstick,
    first: Option<&'a Facts>,
}

impl<'a> Scores<'a> {
    fn of(log: &'a Log) -> Self {
        let timed: Vec<&Facts> = log.kernels().filter_map(|(at, _)| speed(log, at)).collect();
        let is_any = timed.iter().any(|facts| facts.over_naive().is_some());
        let over = if is_any { Yardstick::Naive } else { Yardstick::First };
        Self { over, first: timed.first().copied() }
    }

    fn score(&self, facts: &Facts) -> Option<f64> {
        match self.over {
            Yardstick::Naive => facts.over_naive(),
            Yardstick::First => times_over(facts, self.first?),
        }
    }

    /// By the ratio of one batch, where the two were in one; else by their scores.
    fn is_better(&self, log: &Log, step: &Step<'_>, best: Option<Best>) -> bool {
        let (Some(candidate), Some(score)) = (step.candidate, step.score) else { return false };
        let Some(best) = best else { return true };
        let ratio = speed(log, candidate).and_then(|facts| facts.over(best.candidate));
        ratio.unwrap_or(score / best.score) >= GAIN
    }
}

/// The step that begins with an entry.
fn step<'a>(log: &'a Log, sequence: Sequence, entry: &'a Entry, scores: &Scores<'_>) -> Option<Step<'a>> {
    let (ask, about, answer) = match entry {
        Entry::Request(request) => (Some(request.ask), request.about, log.answer(sequence)),
        Entry::Candidate(candidate) if candidate.request.is_none() => {
            (None, None, Some((sequence, candidate)))
        }
        Entry::Candidate(_) | Entry::Point(_) | Entry::Verdict(_) => return None,
    };
    let candidate = answer.map(|(at, _)| chosen(log, at));
    let kernel = candidate.and_then(|at| log.kernel(at));
    let facts = candidate.and_then(|at| speed(log, at));
    let parent = candidate.filter(|_| kernel.is_some()).and_then(|at| parent(log, at));
    let (outcome, reason) = candidate.map_or_else(|| ("awaited".to_owned(), None), |at| outcome(log, at));
    Some(Step {
        sequence,
        ask,
        about,
        candidate,
        name: kernel.map(|kernel| kernel.name.as_str()),
        by: answer.map(|(_, candidate)| candidate.by.as_str()),
        outcome,
        reason,
        score: facts.and_then(|facts| scores.score(facts)),
        parent,
        over_parent: facts.zip(parent).and_then(|(facts, parent)| facts.over(parent)),
        predicted: kernel.and_then(|kernel| kernel.predicted),
        roofline: facts.and_then(Facts::roofline),
        hypothesis: kernel.and_then(|kernel| kernel.hypothesis.as_deref()),
        best: None,
        points: answer.map(|(at, _)| points(log, at, scores)).unwrap_or_default(),
    })
}

/// What became of each point of an answer.
fn points(log: &Log, answer: Sequence, scores: &Scores<'_>) -> Vec<Point> {
    let told = |(candidate, point): (Sequence, &run_log::Point)| {
        let (outcome, reason) = outcome(log, candidate);
        let score = speed(log, candidate).and_then(|facts| scores.score(facts));
        Point { candidate, values: point.to_string(), outcome, reason, score }
    };
    log.points(answer).map(told).collect()
}

/// What became of an answer or a point, and why.
fn outcome(log: &Log, at: Sequence) -> (String, Option<String>) {
    match log.content(at) {
        Some(Content::Words) => ("words".to_owned(), None),
        Some(Content::Ideas(ideas)) => (format!("{} ideas", ideas.len()), None),
        Some(Content::Repeat { of }) => (format!("repeats {of}"), None),
        Some(Content::Sweep(_)) | None => ("not seen yet".to_owned(), None),
        Some(Content::Unreadable(problems)) => {
            ("unreadable".to_owned(), problems.first().map(|problem| problem.message.clone()))
        }
        Some(Content::Kernel(_)) => match log.verdict(at) {
            None => ("not seen yet".to_owned(), None),
            Some(verdict) => {
                let said = verdict.facts.diagnostics.first().map(|said| said.message.clone());
                (word(verdict.outcome).to_owned(), verdict.facts.reason.clone().or(said))
            }
        },
    }
}

/// An outcome in words.
pub(super) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Refused => "refused",
        Outcome::Compiled => "compiled",
        Outcome::Wrong => "wrong",
        Outcome::Crashed => "crashed",
        Outcome::Right => "right",
        Outcome::WrongInFull => "wrong in full",
        Outcome::TooSlow => "too slow",
        Outcome::Accepted => "accepted",
    }
}

/// None for a kernel without a right one before it.
fn change<'a>(log: &'a Log, step: &Step<'a>) -> Option<Change<'a>> {
    let (candidate, parent) = (step.candidate?, step.parent?);
    let (new, old) = (log.kernel(candidate)?, log.kernel(parent)?);
    let diff = TextDiff::from_lines(old.source.as_str(), new.source.as_str());
    let diff = diff.unified_diff().context_radius(3).header(&old.name, &new.name).to_string();
    let (name, parent_name) = (new.name.as_str(), old.name.as_str());
    Some(Change { candidate, name, parent, parent_name, over_parent: step.over_parent, diff })
}
