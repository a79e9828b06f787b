//! [`Totals`]: a run in numbers. Pure.

use std::collections::{BTreeMap, BTreeSet};

use cutegen_build::run_log::{Log, Outcome, Sequence, Tokens};
use serde::Serialize;

use super::history::{Step, word};
use super::lineage::passed_screening;

/// A run in numbers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Totals<'a> {
    pub(super) requests: usize,
    /// Requests without an answer.
    pub(super) awaited: usize,
    pub(super) candidates: usize,
    /// Kernels that were read and were new, points among them.
    pub(super) kernels: usize,
    /// Of prompts and answers.
    pub(super) tokens: Spent,
    /// Kernels by the last verdict on them.
    pub(super) outcomes: BTreeMap<&'static str, usize>,
    /// Whether the first answer passed the screening; none where nothing has seen it.
    pub(super) first_reply_right: Option<bool>,
    /// The best kernel over the first right one, by their scores.
    pub(super) first_to_best: Option<f64>,
    pub(super) accepted: Option<&'a str>,
    pub(super) devices: BTreeSet<&'a str>,
    pub(super) judged: usize,
    /// Milliseconds that a device was held for a judged candidate, in the median.
    pub(super) median_held_ms: Option<u64>,
    pub(super) held_ms: u64,
}

/// Tokens of a run's answers to requests.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Spent {
    /// As endpoints reported them.
    pub(super) reported: Tokens,
    /// Of answers for which nothing was reported: a token for each [`BYTES`] bytes.
    pub(super) estimated: Tokens,
}

/// Bytes that stand for a token where none was reported.
pub(super) const BYTES: u64 = 4;

impl Spent {
    /// Of the answers of a log.
    fn of(log: &Log) -> Self {
        let mut spent = Self::default();
        for (_, answer) in log.candidates() {
            let Some(request) = answer.request.and_then(|request| log.request(request)) else { continue };
            let bytes = |bytes: u64| bytes.div_ceil(BYTES);
            let (sum, tokens) = match answer.usage {
                Some(tokens) => (&mut spent.reported, tokens),
                None => {
                    let (input, output) = (bytes(request.bytes), bytes(answer.text.len() as u64));
                    (&mut spent.estimated, Tokens { input, output })
                }
            };
            sum.input += tokens.input;
            sum.output += tokens.output;
        }
        spent
    }
}

/// A run in numbers.
pub(super) fn totals<'a>(log: &'a Log, steps: &[Step<'a>]) -> Totals<'a> {
    let asked = || steps.iter().filter(|step| step.ask.is_some());
    let kernels: Vec<Sequence> = log.kernels().map(|(at, _)| at).collect();
    let mut outcomes = BTreeMap::new();
    for verdict in kernels.iter().filter_map(|at| log.verdict(*at)) {
        *outcomes.entry(word(verdict.outcome)).or_insert(0) += 1;
    }
    let last_accepted = |at: &&Sequence| log.verdict(**at).is_some_and(|v| v.outcome == Outcome::Accepted);
    let accepted = kernels.iter().rev().find(last_accepted).and_then(|at| log.kernel(*at));
    let first_right = steps.iter().find_map(|step| step.score);
    let best = steps.last().and_then(|step| step.best);
    let held = held(log);
    Totals {
        requests: asked().count(),
        awaited: asked().filter(|step| step.candidate.is_none()).count(),
        candidates: log.candidates().count(),
        kernels: kernels.len(),
        tokens: Spent::of(log),
        outcomes,
        first_reply_right: asked().next().and_then(|step| seen_right(log, step.candidate?)),
        first_to_best: best.zip(first_right).map(|(best, first)| best.score / first),
        accepted: accepted.map(|kernel| kernel.name.as_str()),
        devices: log.verdicts().filter_map(|(_, v)| Some(v.judge.as_ref()?.card.as_str())).collect(),
        judged: held.len(),
        median_held_ms: median(held.values().copied().collect()),
        held_ms: held.values().sum(),
    }
}

/// Whether an answer turned out right; none while nothing has judged a kernel that may be.
fn seen_right(log: &Log, candidate: Sequence) -> Option<bool> {
    let is_open = || log.verdict(candidate).is_none_or(|verdict| verdict.outcome == Outcome::Compiled);
    if passed_screening(log, candidate) {
        return Some(true);
    }
    (log.kernel(candidate).is_none() || !is_open()).then_some(false)
}

/// Milliseconds that a device was held, by candidate, over all of its verdicts.
fn held(log: &Log) -> BTreeMap<Sequence, u64> {
    let mut held = BTreeMap::new();
    for (_, verdict) in log.verdicts() {
        if let Some(judge) = &verdict.judge {
            *held.entry(verdict.candidate).or_insert(0) += judge.held_ms;
        }
    }
    held
}

/// Of an even number, the mean of the middle two.
fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(u64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_needs_no_order() {
        assert_eq!(
            [vec![], vec![9], vec![8, 2], vec![7, 1, 3]].map(median),
            [None, Some(9), Some(5), Some(3)]
        );
    }
}
