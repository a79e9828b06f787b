//! What a plan's logs say of its candidates: a line each, and the best one. A function of the logs.

use cutegen_build::run_log::{Candidate, Content, Log, Outcome, Sequence};
use cutegen_build::strategy::points::chosen;

use super::id::Id;
use super::told::{clipped, settled};

/// Characters of a note in a line.
const NOTE_MOST: usize = 160;

/// The best candidate of some runs.
pub(super) struct Best<'a> {
    pub(super) id: Id,
    pub(super) log: &'a Log,
    pub(super) source: &'a str,
    pub(super) outcome: Outcome,
    /// Over the naive kernel.
    pub(super) times: Option<f64>,
}

/// A line for each candidate of a run; `open` are those that are at work.
pub(super) fn lines<'a>(log: &'a Log, open: &'a [(Id, String)]) -> impl Iterator<Item = String> + 'a {
    log.candidates().map(move |(sequence, candidate)| {
        let id = Id { run: log.start.run.clone(), candidate: sequence };
        let stage = open.iter().find(|(known, _)| *known == id).map(|(_, state)| state.clone());
        line(&id, log, candidate, stage)
    })
}

fn line(id: &Id, log: &Log, candidate: &Candidate, stage: Option<String>) -> String {
    let kernel = chosen(log, id.candidate);
    let verdict = log.verdict(kernel);
    let content = log.content(kernel).unwrap_or(&candidate.content);
    let state = stage.unwrap_or_else(|| settled(content, verdict.map(|verdict| verdict.outcome)));
    let times = verdict.and_then(|verdict| verdict.facts.over_naive());
    let times = times.map(|times| format!(", {times:.2}x the naive kernel")).unwrap_or_default();
    let point = log.point(kernel).map(|point| format!(" with {point}")).unwrap_or_default();
    let about = about(log, kernel, content);
    let about = about.map(|about| format!(": {}", clipped(&one_line(about), NOTE_MOST))).unwrap_or_default();
    format!("{id} {state}{point}{times} (by {}){about}", one_line(&candidate.by))
}

/// The agent's note, else why it is not right.
fn about<'a>(log: &'a Log, sequence: Sequence, content: &'a Content) -> Option<&'a str> {
    let note = log.kernel(sequence).and_then(|kernel| kernel.hypothesis.as_deref());
    let problem = match content {
        Content::Unreadable(lines) => lines.first().map(|line| line.message.as_str()),
        Content::Sweep(sweep) => sweep.hypothesis.as_deref(),
        Content::Kernel(_) | Content::Words | Content::Ideas(_) | Content::Repeat { .. } => None,
    };
    note.or(problem).or_else(|| log.verdict(sequence)?.facts.reason.as_deref())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The right candidate that gains most over the naive kernel; of equals the last, accepted ones before others.
pub(super) fn best(logs: &[Log]) -> Option<Best<'_>> {
    let all = logs.iter().flat_map(|log| log.kernels().filter_map(move |(at, _)| right(log, at)));
    let rank = |best: &Best<'_>| (best.times.unwrap_or(0.0), best.outcome == Outcome::Accepted);
    all.max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    })
}

fn right(log: &Log, sequence: Sequence) -> Option<Best<'_>> {
    let (kernel, verdict) = (log.kernel(sequence)?, log.verdict(sequence)?);
    let id = Id { run: log.start.run.clone(), candidate: sequence };
    let times = verdict.facts.over_naive();
    let (source, outcome) = (kernel.source.as_str(), verdict.outcome);
    outcome.is_right().then_some(Best { id, log, source, outcome, times })
}

impl Best<'_> {
    /// In a line.
    pub(super) fn text(&self) -> String {
        let word = match self.outcome {
            Outcome::Accepted => "accepted into the user store",
            Outcome::TooSlow => "right, and too slow to be accepted",
            _ => "right, not through the whole gate",
        };
        let times = self.times.map(|times| format!("{times:.2}x the naive kernel, ")).unwrap_or_default();
        format!("{times}{word} ({})", self.id)
    }
}
