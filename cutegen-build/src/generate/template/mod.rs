//! Templates: CuTe sources with configuration at the top, filled in from the math. One folder for GPUs and one for CPUs; every
//! point of a template's space is a candidate.

mod fill;
mod host;
mod sm90a;
mod unfilled;

use crate::generate::{Answer, Candidate, Feedback, Generator};
use crate::plan::Plan;
use cutegen_spec::target::Target;

/// Proposes every point of the templates that fit a plan, once.
#[derive(Clone, Debug)]
pub struct Templates {
    /// Fingerprint of what will compile the candidates.
    toolchain: String,
    /// Whether it has proposed them.
    is_exhausted: bool,
}

/// Why no template has a candidate for the plan, in words; none where one has.
#[must_use]
pub fn unfilled(plan: &Plan) -> Option<String> {
    candidates(plan, "", 1).is_empty().then(|| unfilled::reason(plan))
}

/// The first so many points of the templates that fit a plan.
fn candidates(plan: &Plan, toolchain: &str, at_most: usize) -> Vec<Candidate> {
    match plan.target {
        Target::Host { .. } => host::candidates(plan, toolchain, at_most),
        Target::Cuda { .. } => sm90a::candidates(plan, toolchain, at_most),
    }
}

impl Templates {
    /// Templates for what is compiled by this, a fingerprint.
    pub fn new(toolchain: impl Into<String>) -> Self {
        Self { toolchain: toolchain.into(), is_exhausted: false }
    }

    /// Every point of the templates that fit a plan.
    #[must_use]
    pub fn space(&self, plan: &Plan) -> Vec<Candidate> {
        candidates(plan, &self.toolchain, usize::MAX)
    }
}

impl Generator for Templates {
    fn name(&self) -> &'static str {
        "template"
    }

    fn propose(&mut self, plan: &Plan, _: &Feedback) -> Answer {
        if std::mem::replace(&mut self.is_exhausted, true) {
            return Answer::Exhausted;
        }
        Answer::of(self.space(plan))
    }
}
