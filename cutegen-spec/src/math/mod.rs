//! The math of a kernel: assignments in index notation, parsed, resolved and checked.
//!
//! [`syntax`] turns text into a tree with spans; [`resolve`] binds every name and expands the prelude, giving the
//! [`Math`] here. Loop variables, tensors, axes and scalars are positions from then on: names are gone. This module
//! doesn't know how a value is computed, only what it is.

pub mod func;
pub mod index;
pub mod lexer;
mod print;
pub mod resolve;
pub mod syntax;

pub use index::Index;
pub use func::{Binary, ReduceOp, Unary};

use crate::dtype::DType;

/// Resolved math: assignments in order, each seeing only those before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Math {
    /// The axis that each loop variable runs over, by position.
    pub vars: Vec<usize>,
    /// Named values that are neither input nor output.
    pub temps: Vec<Temp>,
    /// The assignments in source order.
    pub assigns: Vec<Assign>,
}

/// A named value: exact, unless the spec lists it as an intermediate.
#[derive(Clone, Debug, PartialEq)]
pub struct Temp {
    /// The name in the spec; not part of the kernel's identity.
    pub name: String,
    /// The axis of each dimension.
    pub axes: Vec<usize>,
    /// The dtype that a kernel may round it to.
    pub may_round: Option<DType>,
}

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The tensor at this position of the spec.
    Tensor(usize),
    /// The temporary at this position of [`Math::temps`].
    Temp(usize),
}

/// `dst[vars] = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// What is assigned.
    pub dst: Place,
    /// The loop variable of each dimension.
    pub vars: Vec<usize>,
    /// The value at those variables.
    pub value: Expr,
}

/// A real-valued expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A literal; `inf` is infinity.
    Const(f64),
    /// The extent of an axis.
    Extent(usize),
    /// The value of a loop variable.
    Index(usize),
    /// A run-time scalar.
    Scalar(usize),
    /// An element of a tensor or temporary, indexed by loop variables.
    Load(Place, Vec<usize>),
    /// A function of one value.
    Unary(Unary, Box<Expr>),
    /// A function of two values.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// A reduction over a loop variable, which is bound inside.
    Reduce(ReduceOp, usize, Box<Expr>),
}

impl Expr {
    /// `op(self)`
    #[must_use]
    pub fn unary(self, op: Unary) -> Expr {
        Expr::Unary(op, Box::new(self))
    }

    /// `op(self, right)`
    #[must_use]
    pub fn binary(self, op: Binary, right: Expr) -> Expr {
        Expr::Binary(op, Box::new(self), Box::new(right))
    }

    /// `op` over `var` of self.
    #[must_use]
    pub fn reduce(self, op: ReduceOp, var: usize) -> Expr {
        Expr::Reduce(op, var, Box::new(self))
    }

    /// This expression with every child replaced by `f(child)`.
    #[must_use]
    pub fn map_children(&self, f: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        match self {
            Expr::Const(_) | Expr::Extent(_) | Expr::Index(_) | Expr::Scalar(_) | Expr::Load(..) => {
                self.clone()
            }
            Expr::Unary(op, a) => f(a).unary(*op),
            Expr::Binary(op, a, b) => {
                let a = f(a);
                a.binary(*op, f(b))
            }
            Expr::Reduce(op, var, body) => f(body).reduce(*op, *var),
        }
    }

    /// Calls `f` on this expression and everything below it, outermost first.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        match self {
            Expr::Const(_) | Expr::Extent(_) | Expr::Index(_) | Expr::Scalar(_) | Expr::Load(..) => {}
            Expr::Unary(_, a) | Expr::Reduce(_, _, a) => a.visit(f),
            Expr::Binary(_, a, b) => {
                a.visit(f);
                b.visit(f);
            }
        }
    }

    /// This expression with loop variable `from` renamed to `to`.
    #[must_use]
    pub fn rename(&self, from: usize, to: usize) -> Expr {
        let swap = |var: usize| if var == from { to } else { var };
        match self {
            Expr::Index(var) => Expr::Index(swap(*var)),
            Expr::Load(place, vars) => Expr::Load(*place, vars.iter().map(|v| swap(*v)).collect()),
            Expr::Reduce(op, var, body) => body.rename(from, to).reduce(*op, swap(*var)),
            Expr::Const(_) | Expr::Extent(_) | Expr::Scalar(_) | Expr::Unary(..) | Expr::Binary(..) => {
                self.map_children(&mut |child| child.rename(from, to))
            }
        }
    }

    /// Loop variables that occur free, ascending.
    #[must_use]
    pub fn free_vars(&self) -> Vec<usize> {
        let mut vars = std::collections::BTreeSet::new();
        self.collect_free(&mut Vec::new(), &mut vars);
        vars.into_iter().collect()
    }

    fn collect_free(&self, bound: &mut Vec<usize>, out: &mut std::collections::BTreeSet<usize>) {
        match self {
            Expr::Const(_) | Expr::Extent(_) | Expr::Scalar(_) => {}
            Expr::Index(var) => out.extend((!bound.contains(var)).then_some(*var)),
            Expr::Load(_, vars) => out.extend(vars.iter().filter(|v| !bound.contains(v))),
            Expr::Unary(_, a) => a.collect_free(bound, out),
            Expr::Binary(_, a, b) => {
                a.collect_free(bound, out);
                b.collect_free(bound, out);
            }
            Expr::Reduce(_, var, body) => {
                bound.push(*var);
                body.collect_free(bound, out);
                bound.pop();
            }
        }
    }
}
