//! Plan: what is asked of one kernel on one target, worked out before anything is tried. Pure: no file system, no
//! clock, no device.

mod active;
pub mod cost;
pub mod device_model;
pub mod family;
pub mod matmul;
pub mod roofline;
pub mod sample;
mod scan;
pub mod schedule;
pub mod split;
pub mod sums;
mod uses;

use cutegen_spec::digest::CacheKey;
use cutegen_spec::key::Question;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;

use family::Family;
use schedule::Schedule;

/// One kernel on one target.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kernel.
    pub spec: KernelSpec,
    /// The target.
    pub target: Target,
    /// What is asked.
    pub question: Question,
    /// Its key.
    pub key: CacheKey,
    /// The lowered math.
    pub schedule: Schedule,
    /// Which templates fit.
    pub family: Family,
}

impl Plan {
    /// Plans `spec` for `target`.
    #[must_use]
    pub fn new(spec: &KernelSpec, target: &Target) -> Self {
        let question = Question::new(spec, target);
        let schedule = schedule::lower(spec);
        let family = family::classify(spec, &schedule);
        Self { key: question.key(), question, schedule, family, spec: spec.clone(), target: target.clone() }
    }

    /// The plans of every kernel on each of its targets, in declaration order.
    #[must_use]
    pub fn all(specs: &[KernelSpec]) -> Vec<Plan> {
        specs.iter().flat_map(|spec| spec.targets.iter().map(|target| Plan::new(spec, target))).collect()
    }

    /// How messages name this plan.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} on {}", self.spec.name, self.target)
    }
}
