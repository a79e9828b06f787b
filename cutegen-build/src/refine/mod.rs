//! Refine: from the history of a search to what happens next. Pure functions over candidates and trials: no clock, no
//! device, no generator. A space is tried where cost estimates are best and at a few other points, then around the fastest;
//! where one candidate is not the fastest everywhere, several share an axis.

mod bucket;
mod cost_estimate;
mod failures;
mod predicted;
mod select;
mod shortfall;
mod strategy;

use std::collections::BTreeSet;

pub use bucket::{Member, anywhere, leave_nothing, speedup, variant_set};
pub use cost_estimate::cost_estimate;
pub use failures::failures;
pub use predicted::predicted;
pub use select::{around, select};
pub use shortfall::shortfall;
pub use strategy::{Strategy, Sweep};

use crate::generate::{Candidate, Feedback};
use crate::outcome::Outcome;

/// One line of a search's history.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What was proposed.
    pub candidate: Candidate,
    /// What became of it.
    pub outcome: Outcome,
    /// Speed-up over the naive kernel per workload, where it was timed.
    pub speedups: Vec<Option<f64>>,
    /// Whether it was among the faster ones, and timed again for the full number of rounds.
    pub again: bool,
}

impl Trial {
    /// Nothing is known of its speed yet.
    #[must_use]
    pub fn new(candidate: Candidate, outcome: Outcome, workloads: usize) -> Self {
        Self { candidate, outcome, speedups: vec![None; workloads], again: false }
    }

    /// What became of it after all.
    pub fn fail(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }

    /// Whether it has not failed so far.
    #[must_use]
    pub fn passed(&self) -> bool {
        matches!(self.outcome, Outcome::Passed { .. })
    }

    /// Its speed-up at one workload.
    #[must_use]
    pub fn at(&self, workload: usize) -> Option<f64> {
        self.speedups.get(workload).copied().flatten().filter(|_| self.passed())
    }

    /// The geometric mean of its speed-ups, where it was timed at every workload.
    #[must_use]
    pub fn speedup(&self) -> Option<f64> {
        let all: Option<Vec<f64>> = (0..self.speedups.len()).map(|workload| self.at(workload)).collect();
        all.filter(|all| !all.is_empty()).map(|all| geomean(&all))
    }
}

/// Finalists of a search at most, unless it is told otherwise.
pub const FINALISTS: usize = 3;

/// How an answer is chosen from what was timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// How many times faster a candidate has to be in a range of its own: less is not worth another kernel in the binary, and
    /// may be noise. At least 1.
    pub worth: f64,
    /// Sets of candidates that are judged whole, at most.
    pub finalists: usize,
}

impl Default for Choice {
    fn default() -> Self {
        Self { worth: 1.02, finalists: FINALISTS }
    }
}

/// A finalist that is this much slower than the best by the ranking is judged only if the best falls. Of 19 pairs of
/// finalists on an H200, batches and final evaluations put 18 within 1.3 % of each other, half of them within 0.5 %.
pub const CLOSE: f64 = 1.005;

/// What a generator may learn.
#[must_use]
pub fn feedback(history: &[Trial]) -> Feedback {
    let tried = history.iter().map(|t| (t.candidate.name.clone(), t.outcome.to_string())).collect();
    Feedback { round: history.len(), tried }
}

/// The trials that were timed at every workload, best first by the geometric mean of their speed-ups; what a first look
/// left behind comes behind all others.
#[must_use]
pub fn ranked(history: &[Trial]) -> Vec<&Trial> {
    let timed = history.iter().filter_map(|trial| Some((trial.speedup()?, trial)));
    let mut timed: Vec<(f64, &Trial)> = timed.collect();
    timed.sort_by(|(a, x), (b, y)| {
        y.again.cmp(&x.again).then(b.total_cmp(a)).then_with(|| x.candidate.name.cmp(&y.candidate.name))
    });
    timed.into_iter().map(|(_, trial)| trial).collect()
}

/// What candidates that differ in numbers alone have in common: the kind of its cost features, or the words that their name begins with.
#[must_use]
pub fn kind(candidate: &Candidate) -> String {
    let words = || {
        let has_no_digit = |word: &&str| !word.contains(|c: char| c.is_ascii_digit());
        candidate.name.split('-').take_while(has_no_digit).collect::<Vec<_>>().join("-")
    };
    candidate.cost_features.as_ref().map_or_else(words, |features| features.kind().to_owned())
}

/// Which of these trials are worth a second look: the faster half, and the fastest at each workload.
#[must_use]
pub fn faster(trials: &[Trial]) -> BTreeSet<usize> {
    let place = |name: &str| trials.iter().position(|trial| trial.candidate.name == name);
    let ranked = ranked(trials);
    let half = ranked.len().div_ceil(2).max(FINALISTS);
    let mut found: BTreeSet<usize> =
        ranked.iter().take(half).filter_map(|trial| place(&trial.candidate.name)).collect();
    let workloads = trials.iter().map(|trial| trial.speedups.len()).max().unwrap_or(0);
    for workload in 0..workloads {
        let mut there: Vec<(f64, usize)> =
            trials.iter().enumerate().filter_map(|(i, trial)| Some((trial.at(workload)?, i))).collect();
        there.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.extend(there.iter().take(FINALISTS).map(|(_, i)| *i));
    }
    found
}

/// The geometric mean; 1 of nothing.
#[must_use]
pub fn geomean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod sample {
    use super::Trial;
    use crate::generate::Candidate;
    use crate::outcome::Outcome;

    /// One that passed and was timed where a speed-up is above 0; `luck` by a first look alone.
    pub(super) fn trial(name: &str, speedups: &[f64]) -> Trial {
        let candidate = Candidate::bare(name);
        let outcome = Outcome::Passed { correctness: Default::default(), performance: None };
        let speedups = speedups.iter().map(|speedup| (*speedup > 0.0).then_some(*speedup)).collect();
        Trial { candidate, outcome, speedups, again: name != "luck" }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::sample::trial;
    use super::{faster, ranked};
    use crate::outcome::Outcome;

    #[test]
    fn what_was_timed_is_ranked_by_all_workloads() {
        let mut history = [
            trial("c", &[2.0, 2.0]),
            trial("untimed", &[0.0, 0.0]),
            trial("a", &[8.0, 1.0]),
            trial("b", &[4.0, 1.0]),
            trial("luck", &[9.0, 9.0]),
            trial("half", &[0.0, 99.0]),
            trial("wrong", &[10.0, 10.0]),
        ];
        history[6].fail(Outcome::Blocked(String::new()));
        let names: Vec<&str> = ranked(&history).iter().map(|t| t.candidate.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "luck"]);
    }

    #[test]
    fn half_of_them_and_the_fastest_anywhere_are_faster() {
        let trials = [
            trial("a", &[8.0, 8.0]),
            trial("b", &[7.0, 7.0]),
            trial("c", &[6.0, 6.0]),
            trial("d", &[1.0, 9.0]),
            trial("e", &[9.0, 0.0]),
            trial("f", &[2.0, 2.0]),
        ];
        assert_eq!(faster(&trials), BTreeSet::from([0, 1, 2, 3, 4]));
        assert_eq!(faster(&[]), BTreeSet::new());
    }
}
