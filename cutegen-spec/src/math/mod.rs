//! The math of a kernel: assignments in index notation, parsed, resolved and checked.
//!
//! [`syntax`] turns text into a tree with spans; [`resolve`] binds every name, proves every access and expands the
//! prelude, giving the [`Math`] here. Loop variables, tensors, axes and scalars are positions from then on: names
//! are gone. This module doesn't know how a value is computed, only what it is.

mod expr;
pub mod func;
pub mod index;
pub mod lexer;
mod print;
pub mod range;
pub mod resolve;
pub mod syntax;

pub use expr::{Expr, Kind, Loop};
pub use func::{Binary, ReduceOp, Unary};
pub use index::{Index, as_vars};
pub use print::canonical_expr;

use std::collections::BTreeSet;

use crate::dtype::DType;

/// Resolved math: assignments in order, each seeing only those before it.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Math {
    /// The axis that each loop variable runs over, by position.
    pub vars: Vec<usize>,
    /// Named values that are neither input nor output.
    pub temps: Vec<Temp>,
    /// The assignments in source order.
    pub assigns: Vec<Assign>,
}

/// A named value: exact, unless the spec lists it as an intermediate.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Temp {
    /// The name in the spec; empty for a value that the prelude needs twice. Not part of the kernel's identity.
    pub name: String,
    /// The axis of each dimension.
    pub axes: Vec<usize>,
    /// What its elements are.
    pub kind: Kind,
    /// The dtype that a kernel may round it to.
    pub may_round: Option<DType>,
}

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Place {
    /// The tensor at this position of the spec.
    Tensor(usize),
    /// The temporary at this position of [`Math::temps`].
    Temp(usize),
}

impl Math {
    /// Everything that some assignment reads, in its value or in an index.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<Place> {
        let mut read = BTreeSet::new();
        for assign in &self.assigns {
            assign.value.visit(&mut |expr| {
                if let Expr::Load(place, _) | Expr::Pad(place, ..) = expr {
                    read.insert(*place);
                }
            });
        }
        self.visit_indices(&mut |index| {
            if let Index::Read(tensor, _) = index {
                read.insert(Place::Tensor(*tensor));
            }
        });
        read
    }

    /// Positions of the axes that a loop runs over, or whose extent is a value.
    #[must_use]
    pub fn axes(&self) -> BTreeSet<usize> {
        let mut axes: BTreeSet<usize> = self.vars.iter().copied().collect();
        self.visit_indices(&mut |index| {
            if let Index::Extent(axis) = index {
                axes.insert(*axis);
            }
        });
        axes
    }

    /// Calls `f` on every index and everything below it.
    fn visit_indices(&self, f: &mut dyn FnMut(&Index)) {
        for assign in &self.assigns {
            assign.index.iter().for_each(|index| index.visit(f));
            assign.value.visit(&mut |expr| expr.indices().into_iter().for_each(|index| index.visit(f)));
        }
    }
}

/// `dst[index] = value`, for all values of `vars`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Assign {
    /// What is assigned.
    pub dst: Place,
    /// The loop variables of the left side.
    pub vars: Vec<usize>,
    /// The index of each dimension: these variables in order, but for an `inout`.
    pub index: Vec<Index>,
    /// The value at those variables.
    pub value: Expr,
}
