//! [`Identity`]: which axes of a schedule are one. An axis that only renames another counts as that one, except where a
//! step runs over both: there each is an axis of its own.

use cutegen_spec::spec::KernelSpec;

use crate::plan::scan;
use crate::plan::schedule::{Schedule, Step, Value};

/// The axis that stands for each axis, by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity(Vec<usize>);

impl Identity {
    /// Of the axes of `schedule`. An axis joins the first of its extent that no step runs over beside it.
    pub(super) fn of(spec: &KernelSpec, schedule: &Schedule) -> Identity {
        let steps: Vec<Vec<usize>> = schedule.steps.iter().map(|step| axes(schedule, step)).collect();
        let together = |a: usize, b: usize| steps.iter().any(|axes| axes.contains(&a) && axes.contains(&b));
        let mut stands: Vec<usize> = Vec::new();
        for axis in 0..spec.axes.len() {
            let root = scan::root(&spec.axes, axis);
            let joins = |first: usize| {
                stands[first] == first
                    && scan::root(&spec.axes, first) == root
                    && !(first..axis).any(|other| stands[other] == first && together(other, axis))
            };
            stands.push((0..axis).find(|first| joins(*first)).unwrap_or(axis));
        }
        Identity(stands)
    }

    /// What stands for `axis`.
    pub(super) fn axis(&self, axis: usize) -> usize {
        self.0[axis]
    }

    /// What stands for the axis of a loop variable.
    pub(super) fn var(&self, schedule: &Schedule, var: usize) -> usize {
        self.axis(schedule.vars[var])
    }
}

/// The axes of what a step runs over. A scan's result runs along the axis that it sums.
fn axes(schedule: &Schedule, step: &Step) -> Vec<usize> {
    let inner: Vec<usize> = match &step.value {
        Value::Map(_) => Vec::new(),
        Value::Reduce { over, .. } => over.iter().map(|l| l.var).collect(),
        Value::Scan { over, .. } => vec![*over],
    };
    step.vars().into_iter().chain(inner).map(|var| schedule.vars[var]).collect()
}
