//! [`Axis`]: an index space dimension, its extent and what is known of it when the kernel is built.

use crate::int_expr::IntExpr;

/// A named axis of a spec.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Axis {
    /// The name in the spec; not part of the kernel's identity.
    pub name: String,
    /// How its extent is known.
    pub extent: Extent,
}

/// How an axis's extent is known.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Extent {
    /// Always this.
    Const(i64),
    /// Chosen at run time, both ends included.
    Range {
        /// Smallest extent.
        lo: i64,
        /// Largest extent.
        hi: i64,
        /// The extent is always a multiple of this.
        multiple_of: i64,
        /// Declared bucket ends, ascending; empty when none are declared.
        buckets: Vec<i64>,
    },
    /// Computed from axes declared before it.
    Derived(IntExpr),
}

impl Axis {
    /// Whether a caller passes this extent at run time.
    #[must_use]
    pub fn is_run_time(&self) -> bool {
        matches!(self.extent, Extent::Range { .. })
    }
}

/// The extents of all axes once the run-time ones are bound, in declaration order. `None` when a derived axis
/// cannot be computed or comes out negative.
#[must_use]
pub fn resolve(axes: &[Axis], bind: &dyn Fn(usize) -> i64) -> Option<Vec<i64>> {
    let mut extents = Vec::with_capacity(axes.len());
    for (position, axis) in axes.iter().enumerate() {
        let extent = match &axis.extent {
            Extent::Const(value) => *value,
            Extent::Range { .. } => bind(position),
            Extent::Derived(expr) => expr.eval_axes(&extents).filter(|value| *value >= 0)?,
        };
        extents.push(extent);
    }
    Some(extents)
}

/// The largest extent of every axis over the declared domain, taking each run-time axis at its upper end.
#[must_use]
pub fn largest(axes: &[Axis]) -> Option<Vec<i64>> {
    resolve(axes, &|position| match axes[position].extent {
        Extent::Range { hi, .. } => hi,
        Extent::Const(value) => value,
        Extent::Derived(_) => 0,
    })
}
