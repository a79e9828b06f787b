//! What one reduction of a schedule looks like: which axes it runs over, whether whole, and whether it slides.

use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Loop};
use cutegen_spec::spec::KernelSpec;

use super::alias::Identity;
use crate::plan::scan;
use crate::plan::schedule::{Schedule, Step, Value};

/// One reduction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reduction {
    /// The axes it runs over, ascending; axes that only rename another count as that one.
    pub(super) over: Vec<usize>,
    /// Whether it runs over all of them, and is computed for all of the rest.
    pub(super) is_whole: bool,
    /// Whether it is a scan.
    pub(super) is_scan: bool,
    /// Whether an access mixes a reduced axis with a free one, as windows do.
    pub(super) slides: bool,
}

impl Reduction {
    /// The reduction that a step is, if it is one.
    pub(super) fn of(
        spec: &KernelSpec,
        schedule: &Schedule,
        identity: &Identity,
        step: &Step,
    ) -> Option<Reduction> {
        let (vars, is_whole, is_scan) = match &step.value {
            Value::Map(_) => return None,
            Value::Reduce { over, .. } => {
                let whole = over.iter().chain(&step.loops).all(Loop::is_whole);
                (over.iter().map(|l| l.var).collect::<Vec<_>>(), whole, false)
            }
            Value::Scan { over, .. } => (vec![*over], false, true),
        };
        let mut over: Vec<usize> = vars.iter().map(|v| identity.var(schedule, *v)).collect();
        over.sort_unstable();
        over.dedup();
        let mut slides = false;
        step.value.expr().visit(&mut |e| {
            slides |= places(e).into_iter().any(|index| is_mixed(spec, schedule, index, &vars));
        });
        Some(Reduction { over, is_whole, is_scan, slides })
    }
}

/// The indices at which `expr` itself reads. An integer that is a value is none.
fn places(expr: &Expr) -> Vec<&Index> {
    let Expr::Int(value) = expr else { return expr.indices() };
    let mut found = Vec::new();
    value.visit(&mut |index| {
        if let Index::Read(_, inner) = index {
            found.extend(inner);
        }
    });
    found
}

/// The axis that `axis` only renames, wherever it stands.
fn root(spec: &KernelSpec, axis: usize) -> usize {
    scan::root(&spec.axes, axis)
}

/// Whether an index names a reduced variable and another one, and isn't a split of one axis into `i * len(j) + j`.
fn is_mixed(spec: &KernelSpec, schedule: &Schedule, index: &Index, reduced: &[usize]) -> bool {
    let mut vars = Vec::new();
    index.vars(&mut vars);
    let inside = vars.iter().filter(|v| reduced.contains(v)).count();
    inside > 0 && inside < vars.len() && !is_split(spec, schedule, index)
}

/// `i * c + j` where `j` runs over `c`.
fn is_split(spec: &KernelSpec, schedule: &Schedule, index: &Index) -> bool {
    let Index::Op(IntOp::Add, high, low) = index else { return false };
    let (Index::Op(IntOp::Mul, _, by), Some(low)) = (high.as_ref(), low.as_var()) else { return false };
    let extent = |index: &Index| match index {
        Index::Const(value) => Some(IntExpr::Const(*value)),
        Index::Extent(axis) => Some(IntExpr::Axis(root(spec, *axis))),
        _ => None,
    };
    let axis = root(spec, schedule.vars[low]);
    let constant = match spec.axes[axis].extent {
        cutegen_spec::axis::Extent::Const(value) => Some(IntExpr::Const(value)),
        _ => None,
    };
    extent(by).is_some_and(|by| by == IntExpr::Axis(axis) || Some(by) == constant)
}
