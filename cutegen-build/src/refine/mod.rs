//! Refine: from the history of a search to what happens next. Pure functions over candidates and trials: no clock, no
//! device, no generator. A space is tried where forecasts are best and at a few other points, then around the fastest.

mod forecast;
mod select;

pub use forecast::forecast;
pub use select::{SELECTED, around, select};

use crate::evaluate::Outcome;
use crate::generate::{Candidate, Feedback};

/// One line of a search's history.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What was proposed.
    pub candidate: Candidate,
    /// What became of it.
    pub outcome: Outcome,
    /// Speed-up over the naive kernel per workload, for candidates that passed and were timed.
    pub speedups: Vec<f64>,
    /// Whether it was among the faster ones, and timed again at the full number of pairs.
    pub again: bool,
}

/// Finalists of a search.
pub const FINALISTS: usize = 2;

/// What a generator may learn.
#[must_use]
pub fn feedback(history: &[Trial]) -> Feedback {
    let tried = history.iter().map(|t| (t.candidate.name.clone(), t.outcome.to_string())).collect();
    Feedback { round: history.len(), tried }
}

/// The trials that were timed, best first by the geometric mean of their speed-ups; what a first look left behind comes
/// behind all others.
#[must_use]
pub fn ranked(history: &[Trial]) -> Vec<&Trial> {
    let mut timed: Vec<&Trial> = history.iter().filter(|trial| !trial.speedups.is_empty()).collect();
    timed.sort_by(|a, b| {
        let faster = geomean(&b.speedups).total_cmp(&geomean(&a.speedups));
        b.again.cmp(&a.again).then(faster).then_with(|| a.candidate.name.cmp(&b.candidate.name))
    });
    timed
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
mod tests {
    use super::{Trial, ranked};
    use crate::evaluate::Outcome;
    use crate::generate::Candidate;

    fn trial(name: &str, speedups: &[f64]) -> Trial {
        let candidate = Candidate {
            name: name.to_owned(),
            kind: cutegen_spec::record::Kind::Tuned,
            origin: String::new(),
            source: String::new(),
            contract: Default::default(),
            eligibility: Default::default(),
            tiles: Vec::new(),
            sketch: None,
        };
        let outcome = Outcome::Blocked(String::new());
        Trial { candidate, outcome, speedups: speedups.to_vec(), again: name != "luck" }
    }

    #[test]
    fn what_was_timed_is_ranked_by_all_workloads() {
        let history = [
            trial("c", &[2.0, 2.0]),
            trial("wrong", &[]),
            trial("a", &[8.0, 1.0]),
            trial("b", &[4.0, 1.0]),
            trial("luck", &[9.0, 9.0]),
        ];
        let names: Vec<&str> = ranked(&history).iter().map(|t| t.candidate.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "luck"]);
    }
}
