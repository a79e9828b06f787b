//! Templates: CuTe sources with configuration at the top, filled in from the math. One folder for GPUs and one for CPUs; every
//! point of a template's space is a candidate. A kernel that none fills whole is filled in parts, if each of these is.

mod device;
mod fill;
mod host;
mod parts;
mod unfilled;

use crate::generate::{Answer, Candidate, Feedback, Generator, name_entry};
use crate::plan::Plan;
use crate::plan::split::{Part, split};
use cutegen_spec::target::Target;

/// Which candidates of a part are tried, best first, as if it were a kernel alone.
pub type Select = fn(&Plan, &[Candidate]) -> Vec<Candidate>;

/// Proposes every point of the templates that fit a plan, once.
#[derive(Clone, Debug)]
pub struct Templates {
    /// Fingerprint of what will compile the candidates.
    toolchain: String,
    /// Of the candidates of parts.
    select: Select,
    /// Whether it has proposed them.
    is_exhausted: bool,
}

/// Why no template has a candidate for the plan, in words; none where one has.
#[must_use]
pub fn unfilled(plan: &Plan) -> Option<String> {
    if is_filled(plan) {
        return None;
    }
    parts_of(plan).err().map(|part| unfilled::reason(plan, part.as_deref()))
}

/// Whether a template fills the plan as it is.
fn is_filled(plan: &Plan) -> bool {
    !candidates(plan, 1).is_empty()
}

/// The parts of a plan, each filled by a template; the first that none fills, if it is one at all. A function for the host is
/// called once, so there are none.
pub fn parts_of(plan: &Plan) -> Result<Vec<Part>, Option<Box<Plan>>> {
    if plan.target.is_host() { Err(None) } else { split(plan, &is_filled) }
}

/// The first so many points of the templates that fit a plan, their entries not yet named.
fn candidates(plan: &Plan, at_most: usize) -> Vec<Candidate> {
    match plan.target {
        Target::Host { .. } => host::candidates(plan, at_most),
        Target::Cuda { .. } => device::candidates(plan, at_most),
    }
}

impl Templates {
    /// Templates for what is compiled by this, a fingerprint.
    pub fn new(toolchain: impl Into<String>) -> Self {
        Self { toolchain: toolchain.into(), select: |_, all| all.to_vec(), is_exhausted: false }
    }

    /// The same, of which parts of a kernel have only these candidates.
    #[must_use]
    pub fn of_parts(self, select: Select) -> Self {
        Self { select, ..self }
    }

    /// Every point of the templates that fit a plan, or its parts.
    #[must_use]
    pub fn space(&self, plan: &Plan) -> Vec<Candidate> {
        let whole = candidates(plan, usize::MAX);
        let all = if whole.is_empty() { self.in_parts(plan) } else { whole };
        all.into_iter().map(|candidate| self.named(candidate)).collect()
    }

    fn in_parts(&self, plan: &Plan) -> Vec<Candidate> {
        let parts = parts_of(plan).unwrap_or_default();
        let all = |part: &Part| (self.select)(&part.plan, &candidates(&part.plan, usize::MAX));
        parts::joined(plan, &parts, &parts.iter().map(all).collect::<Vec<_>>())
    }

    fn named(&self, candidate: Candidate) -> Candidate {
        let (source, contract) = name_entry(&candidate.source, &candidate.contract, &self.toolchain);
        Candidate { source, contract, ..candidate }
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
