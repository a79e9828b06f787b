//! [`Tried`]: an idea of a log, and what became of the variants that carried it out. Pure.

use cutegen_build::run_log::{Ask, Content, Entry, Idea, Log, Request, Sequence};
use cutegen_build::strategy::points::chosen;
use serde::Serialize;

use super::history::word;
use super::lineage::is_right;

/// An idea, and what became of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Tried<'a> {
    /// From 1: which request for ideas it answers.
    pub(super) round: usize,
    /// From 1, among the ideas of its round.
    pub(super) number: u32,
    /// The kernel that it was to change; none where it was not tried.
    pub(super) about: Option<Sequence>,
    pub(super) text: &'a str,
    pub(super) predicted: Option<f64>,
    /// Each variant's last answer and its outcome: `12 right`.
    pub(super) variants: Vec<String>,
    /// The fastest right one.
    pub(super) best: Option<Sequence>,
    /// Its speed-up over the kernel that it changes, by times of one batch.
    pub(super) over: Option<f64>,
}

/// Every idea of a log, in order.
pub(super) fn tried(log: &Log) -> Vec<Tried<'_>> {
    let asked: Vec<(Sequence, &Request)> =
        requests(log).filter(|(_, request)| request.ask == Ask::Ideas).collect();
    let mut all = Vec::new();
    for (round, (at, _)) in (1..).zip(&asked) {
        let Some(Content::Ideas(ideas)) = log.answer(*at).map(|(_, candidate)| &candidate.content) else {
            continue;
        };
        let until = asked.get(round).map_or(Sequence::MAX, |(next, _)| *next);
        all.extend((1..).zip(ideas).map(|(number, idea)| one(log, (round, *at..until), (number, idea))));
    }
    all
}

fn one<'a>(
    log: &'a Log,
    (round, places): (usize, std::ops::Range<Sequence>),
    (number, idea): (u32, &'a Idea),
) -> Tried<'a> {
    let own = requests(log).filter(|(at, request)| places.contains(at) && request.idea == Some(number));
    let own: Vec<(Sequence, &Request)> = own.collect();
    let about = own.first().and_then(|(_, request)| request.about);
    let last: Vec<Sequence> = own.iter().filter_map(|(at, _)| last(log, *at)).collect();
    let over = |kernel: Sequence| Some((kernel, timed_over(log, kernel, about?)?));
    let best = last.iter().filter_map(|kernel| over(*kernel)).max_by(|one, other| one.1.total_cmp(&other.1));
    Tried {
        round,
        number,
        about,
        text: &idea.text,
        predicted: idea.predicted,
        variants: last.iter().map(|answer| format!("{answer} {}", fate(log, *answer))).collect(),
        best: best.map(|(kernel, _)| kernel),
        over: best.map(|(_, over)| over),
    }
}

fn requests(log: &Log) -> impl Iterator<Item = (Sequence, &Request)> {
    (1..).zip(&log.entries).filter_map(|(at, entry)| match entry {
        Entry::Request(request) => Some((at, request)),
        Entry::Candidate(_) | Entry::Point(_) | Entry::Verdict(_) => None,
    })
}

/// The last answer that came of a request: its own, or that of a correction.
fn last(log: &Log, request: Sequence) -> Option<Sequence> {
    let mut answer = chosen(log, log.answer(request)?.0);
    for (at, later) in requests(log).filter(|(at, _)| *at > request) {
        let is_correction = matches!(later.ask, Ask::Patch | Ask::Whole) && later.about == Some(answer);
        if let Some((corrected, _)) = log.answer(at).filter(|_| is_correction) {
            answer = chosen(log, corrected);
        }
    }
    Some(answer)
}

/// The speed-up of a right kernel over another by times of one batch; the whole gate times it without the other.
fn timed_over(log: &Log, kernel: Sequence, other: Sequence) -> Option<f64> {
    let verdicts = log.verdicts().filter(|(_, verdict)| verdict.candidate == kernel);
    verdicts.filter_map(|(_, verdict)| verdict.facts.over(other)).last().filter(|_| is_right(log, kernel))
}

fn fate(log: &Log, answer: Sequence) -> &'static str {
    match log.content(answer) {
        Some(Content::Sweep(_)) => "not seen yet",
        Some(Content::Kernel(_)) => {
            log.verdict(answer).map_or("not seen yet", |verdict| word(verdict.outcome))
        }
        Some(Content::Repeat { .. }) => "repeat",
        Some(Content::Words | Content::Ideas(_) | Content::Unreadable(_)) | None => "unreadable",
    }
}
