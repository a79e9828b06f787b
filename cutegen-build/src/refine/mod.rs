//! Refine: from the history of a search to what happens next. Pure functions over trials: no clock, no device, no
//! generator. `sweep` is the strategy of this version: every proposal once, then the fastest.

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
}

/// What happens next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Ask the generator again.
    Propose(Feedback),
    /// Judge the finalists, named best first.
    Finish(Vec<String>),
}

/// Finalists that a sweep keeps.
pub const FINALISTS: usize = 3;

/// The sweep: one round of everything, then the fastest few by geometric mean of their speed-ups.
#[must_use]
pub fn sweep(history: &[Trial], last_round: usize) -> Next {
    if last_round > 0 {
        let tried = history.iter().map(|t| (t.candidate.name.clone(), t.outcome.to_string())).collect();
        return Next::Propose(Feedback { round: history.len(), tried });
    }
    let mut ranked: Vec<(f64, &str)> = history
        .iter()
        .filter(|trial| !trial.speedups.is_empty())
        .map(|trial| (geomean(&trial.speedups), trial.candidate.name.as_str()))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    Next::Finish(ranked.into_iter().take(FINALISTS).map(|(_, name)| name.to_owned()).collect())
}

/// The geometric mean; 1 of nothing.
#[must_use]
pub fn geomean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}
