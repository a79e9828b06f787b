//! Templates: CuTe sources with configuration at the top, filled in from the math. One folder per target; every
//! point of a template's space is a candidate.

mod fill;
mod host;
mod sm90a;

use crate::generate::{Candidate, Feedback, Generator};
use crate::plan::Plan;
use cutegen_spec::target::Target;

/// Proposes every point of the templates that fit a plan, once.
#[derive(Clone, Debug)]
pub struct Templates {
    /// Fingerprint of what will compile the candidates.
    pub toolchain: String,
}

impl Generator for Templates {
    fn propose(&mut self, plan: &Plan, feedback: &Feedback) -> Vec<Candidate> {
        if feedback.round > 0 {
            return Vec::new();
        }
        match plan.target {
            Target::Host { .. } => host::candidates(plan, &self.toolchain),
            Target::Cuda { .. } => sm90a::candidates(plan, &self.toolchain),
        }
    }
}
