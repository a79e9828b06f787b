//! [`Strategy`]: which proposals a search tries, and in which order. The default is [`Sweep`]. It must not know how candidates
//! are compiled or judged.

use super::{Trial, around, select};
use crate::generate::Candidate;
use crate::plan::Plan;

/// Which proposals a search tries: pure functions of what was proposed and of what became of it.
pub trait Strategy {
    /// What is tried first of candidates that were proposed at once.
    fn first(&self, plan: &Plan, space: &[Candidate]) -> Vec<Candidate>;

    /// What is tried next of the same candidates; `history` is every trial so far.
    fn next(&self, plan: &Plan, space: &[Candidate], history: &[Trial]) -> Vec<Candidate>;
}

/// The best by cost estimate and a few others, then what lies around the fastest: [`select`] and [`around`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep;

impl Strategy for Sweep {
    fn first(&self, plan: &Plan, space: &[Candidate]) -> Vec<Candidate> {
        select(plan, space)
    }

    fn next(&self, plan: &Plan, space: &[Candidate], history: &[Trial]) -> Vec<Candidate> {
        around(plan, space, history)
    }
}
