//! Whether an access stays inside its tensor: for every shape of the axes' declared domain and every value of the
//! loop variables around it.
//!
//! A [`Proof::Inside`] is a proof and a [`Proof::Outside`] has a shape at which the access really leaves the tensor;
//! what is neither within a fixed amount of work is [`Proof::Unknown`]. Numbers are whole and exact here: that a
//! kernel's own integers are wide enough is not looked at. Nothing here panics, whatever it is asked.

mod atoms;
mod convert;
mod corners;
mod interval;
mod poly;
mod prove;
mod search;
#[cfg(test)]
mod tests;

use crate::axis::Axis;
use crate::int_expr::IntExpr;
use crate::math::index::Index;
use crate::tensor::ValueRange;
use atoms::Prover;
use std::ops::RangeInclusive;

/// Where an access happens.
#[derive(Clone, Copy)]
pub struct Domain<'a> {
    /// The axes of the spec. Shapes at which a derived axis can't be computed or is negative don't count.
    pub axes: &'a [Axis],
    /// The loop variables by position; `None` for those whose loop is not around the access.
    pub vars: &'a [Option<VarBound>],
    /// The declared range of an integer input, by its position among the spec's tensors.
    pub reads: &'a dyn Fn(usize) -> Option<&'a ValueRange>,
}

/// What a loop variable runs over: `max(0, from) .. min(extent, to)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VarBound {
    /// The axis whose extent it stays below.
    pub axis: usize,
    /// Its smallest value; may mention variables of loops further out.
    pub from: Option<Index>,
    /// One past its largest value; may mention variables of loops further out.
    pub to: Option<Index>,
}

impl VarBound {
    /// All of an axis.
    #[must_use]
    pub fn whole(axis: usize) -> VarBound {
        VarBound { axis, from: None, to: None }
    }
}

/// An answer about an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It never leaves its tensor.
    Inside,
    /// It does leave it.
    Outside {
        /// Extents of all axes at which it does, in declaration order.
        shape: Vec<i64>,
        /// An index that occurs there.
        index: i64,
        /// The dimension's extent there.
        extent: i64,
    },
    /// Neither was found.
    Unknown,
}

/// Whether `0 <= index < dim` wherever the access happens. Elements that `index` reads are taken to be any values of
/// their declared range; whether they are read inside their own tensor is another question.
#[must_use]
pub fn inside(domain: &Domain<'_>, index: &Index, dim: &IntExpr) -> Proof {
    if is_plain(domain, index, dim) || is_proved(domain, index, dim) == Some(true) {
        return Proof::Inside;
    }
    search::outside(domain, index, dim).unwrap_or(Proof::Unknown)
}

/// Whether `a >= b` is proved for every shape; loops are not looked at.
#[must_use]
pub fn at_least(domain: &Domain<'_>, a: &IntExpr, b: &IntExpr) -> bool {
    let mut prover = Prover::new(Domain { vars: &[], ..*domain });
    let known = domain.axes.len();
    let gap = prover.expr(a, known).and_then(|a| a.sub(&prover.expr(b, known)?));
    gap.is_some_and(|gap| prover.nonneg(&gap))
}

/// A variable in the dimension of its own axis: most accesses are.
fn is_plain(domain: &Domain<'_>, index: &Index, dim: &IntExpr) -> bool {
    match (index, dim) {
        (Index::Var(var), IntExpr::Axis(axis)) => {
            matches!(domain.vars.get(*var), Some(Some(bound)) if bound.axis == *axis)
        }
        (Index::Const(value), IntExpr::Const(dim)) => (0..*dim).contains(value),
        _ => false,
    }
}

fn is_proved(domain: &Domain<'_>, index: &Index, dim: &IntExpr) -> Option<bool> {
    let mut prover = Prover::new(*domain);
    let index = prover.index(index)?;
    let dim = prover.expr(dim, domain.axes.len())?;
    let room = dim.sub(&index)?.plus(-1)?;
    Some(prover.nonneg(&index) && prover.nonneg(&room))
}

/// A run-time axis is `step` times a number of the range.
fn steps(lo: i64, hi: i64, multiple_of: i64) -> Option<(i64, RangeInclusive<i64>)> {
    let first =
        lo.checked_add(multiple_of.checked_sub(1).filter(|rest| *rest >= 0)?)?.div_euclid(multiple_of);
    let last = hi.div_euclid(multiple_of);
    (first <= last).then_some((multiple_of, first..=last))
}
