//! [`Index`]: integer expressions inside a kernel's loops: where an access goes, how far a loop runs, what an axis
//! counts as a value. Unlike [`crate::int_expr::IntExpr`] they see loop variables and integer inputs.

use crate::int_expr::IntOp;

/// An integer expression over loop variables, extents and elements of integer inputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
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

impl Index {
    /// `op(a, b)`, folded when both are literals.
    #[must_use]
    pub fn op(op: IntOp, a: Index, b: Index) -> Index {
        if let (Index::Const(a), Index::Const(b)) = (&a, &b)
            && let Some(value) = op.apply(*a, *b)
        {
            return Index::Const(value);
        }
        match (op, &a, &b) {
            (IntOp::Add | IntOp::Sub, _, Index::Const(0)) => a,
            (IntOp::Add, Index::Const(0), _) => b,
            _ => Index::Op(op, Box::new(a), Box::new(b)),
        }
    }

    /// The loop variable that this is, if it is nothing else.
    #[must_use]
    pub fn as_var(&self) -> Option<usize> {
        match self {
            Index::Var(var) => Some(*var),
            Index::Const(_) | Index::Extent(_) | Index::Read(..) | Index::Op(..) => None,
        }
    }

    /// Calls `f` on this and everything below it, outermost first.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Index)) {
        f(self);
        match self {
            Index::Const(_) | Index::Extent(_) | Index::Var(_) => {}
            Index::Read(_, indices) => indices.iter().for_each(|index| index.visit(f)),
            Index::Op(_, a, b) => {
                a.visit(f);
                b.visit(f);
            }
        }
    }

    /// This with every loop variable replaced by what `to` gives for it.
    #[must_use]
    pub fn subst(&self, to: &dyn Fn(usize) -> Option<Index>) -> Index {
        match self {
            Index::Const(_) | Index::Extent(_) => self.clone(),
            Index::Var(var) => to(*var).unwrap_or(Index::Var(*var)),
            Index::Read(tensor, indices) => {
                Index::Read(*tensor, indices.iter().map(|index| index.subst(to)).collect())
            }
            Index::Op(op, a, b) => Index::op(*op, a.subst(to), b.subst(to)),
        }
    }

    /// Adds the loop variables that occur to `out`, in order of first appearance.
    pub fn vars(&self, out: &mut Vec<usize>) {
        self.visit(&mut |index| {
            if let Index::Var(var) = index
                && !out.contains(var)
            {
                out.push(*var);
            }
        });
    }
}

/// The loop variables that `indices` are, if each is one and nothing else.
#[must_use]
pub fn as_vars(indices: &[Index]) -> Option<Vec<usize>> {
    indices.iter().map(Index::as_var).collect()
}
