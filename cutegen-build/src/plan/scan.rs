//! Which bounded reductions are scans: a running sum costs one pass along its axis, not one pass an element.

use cutegen_spec::axis::{Axis, Extent};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Loop};

/// Which elements a scan's result at `c` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Those from `c` to the end, not from the start to `c`.
    pub reverse: bool,
    /// Without `c` itself.
    pub exclusive: bool,
}

/// The bound variable, the variable along which the result runs and the direction, if a reduction of `body` over
/// `over` is a scan. `free` are the loops it would be hoisted to.
#[must_use]
pub(super) fn of(
    axes: &[Axis],
    vars: &[usize],
    over: &[Loop],
    body: &Expr,
    free: &[Loop],
) -> Option<(usize, usize, Direction)> {
    let [one] = over else { return None };
    let (along, direction) = match (&one.from, &one.to) {
        (None, Some(to)) => {
            let (along, next) = plain(to)?;
            (along, Direction { reverse: false, exclusive: !next })
        }
        (Some(from), None) => {
            let (along, next) = plain(from)?;
            (along, Direction { reverse: true, exclusive: next })
        }
        _ => return None,
    };
    let fits = same_extent(axes, vars[one.var], vars[along])
        && !body.free_vars().contains(&along)
        && free.iter().all(|l| l.is_whole());
    fits.then_some((one.var, along, direction))
}

/// Reads a bound as `c` (false) or `c + 1` (true).
fn plain(bound: &Index) -> Option<(usize, bool)> {
    match bound {
        Index::Var(var) => Some((*var, false)),
        Index::Op(IntOp::Add, a, b) if **b == Index::Const(1) => Some((a.as_var()?, true)),
        _ => None,
    }
}

/// Whether two axes have one extent at every shape, as far as their declarations say so directly.
#[must_use]
fn same_extent(axes: &[Axis], a: usize, b: usize) -> bool {
    let (a, b) = (root(axes, a), root(axes, b));
    a == b || matches!((&axes[a].extent, &axes[b].extent), (Extent::Const(x), Extent::Const(y)) if x == y)
}

/// The axis that `axis` is only another name of, or itself.
#[must_use]
pub(super) fn root(axes: &[Axis], axis: usize) -> usize {
    match &axes[axis].extent {
        Extent::Derived(IntExpr::Axis(other)) => root(axes, *other),
        Extent::Const(_) | Extent::Range { .. } | Extent::Derived(_) => axis,
    }
}
