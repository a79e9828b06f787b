//! What a search loses by trying a few points of a space, where the speed of all of them is known.

use super::{Choice, Trial, around, select, speedup, variant_set};
use crate::generate::Candidate;
use crate::outcome::Outcome;
use crate::plan::Plan;

/// How much slower what answers of the points that a search tries is than what would answer of all: 1 where nothing is
/// lost. And how many it tries. `speeds` knows those of a point at each of the workloads, where it was timed there.
pub fn shortfall(
    plan: &Plan,
    space: &[Candidate],
    workloads: &[Vec<i64>],
    speeds: impl Fn(&Candidate) -> Vec<Option<f64>>,
) -> (f64, usize) {
    let trials = |candidates: &[Candidate]| -> Vec<Trial> {
        let passed = || Outcome::Passed { correctness: Default::default(), performance: None };
        let trial = |candidate: &Candidate| Trial {
            speedups: speeds(candidate),
            again: true,
            ..Trial::new(candidate.clone(), passed(), workloads.len())
        };
        candidates.iter().map(trial).collect()
    };
    let mut tried = trials(&select(plan, space));
    tried.extend(trials(&around(plan, space, &tried)));
    let worth = Choice::default().worth;
    let set = |history: &[Trial]| variant_set(&plan.spec, workloads, history, worth);
    let speed = |history: &[Trial]| speedup(workloads, history, &set(history));
    (speed(&trials(space)) / speed(&tried), tried.len())
}
