//! [`Index`]: integer expressions inside a kernel's loops: where an access goes, how far a loop runs, what an axis
//! counts as a value. Unlike [`crate::int_expr::IntExpr`] they see loop variables and integer inputs.

use crate::int_expr::IntOp;

/// An integer expression over loop variables, extents and elements of integer inputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// A literal.
    Const(i64),
    /// The extent of the axis at this position.
    Extent(usize),
    /// The value of a loop variable.
    Var(usize),
    /// An element of the integer input at this position of the spec's tensors.
    Read(usize, Vec<Index>),
    /// An operation on two expressions; division floors, the remainder is never negative.
    Op(IntOp, Box<Index>, Box<Index>),
}
