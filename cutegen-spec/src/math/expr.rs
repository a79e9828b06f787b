//! [`Expr`]: an expression of the math with every name resolved, and the walks over it.

use super::{Binary, Index, Place, ReduceOp, Unary};
use crate::dtype::DType;

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// A real number: computed with rounding.
    Real,
    /// An integer: computed exactly.
    Int,
    /// True or false.
    Cond,
}

impl Kind {
    /// What elements of `dtype` are.
    #[must_use]
    pub fn of(dtype: DType) -> Kind {
        match dtype {
            DType::Bool => Kind::Cond,
            _ if dtype.is_float() => Kind::Real,
            _ => Kind::Int,
        }
    }

    /// What messages call several of it.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Real => "real numbers",
            Kind::Int => "integers",
            Kind::Cond => "conditions",
        }
    }

    /// The word that messages use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Real => "a real number",
            Kind::Int => "an integer",
            Kind::Cond => "a condition",
        }
    }
}

/// A loop variable with what bounds it: `from <= var < to`, within its axis.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Loop {
    /// The variable.
    pub var: usize,
    /// Its smallest value, if not 0.
    pub from: Option<Index>,
    /// One past its largest value, if not the extent.
    pub to: Option<Index>,
}

impl Loop {
    /// A loop over a whole axis.
    #[must_use]
    pub fn whole(var: usize) -> Loop {
        Loop { var, from: None, to: None }
    }

    /// Whether it runs over the whole axis.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Its bounds.
    pub fn bounds(&self) -> impl Iterator<Item = &Index> {
        self.from.iter().chain(&self.to)
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Expr {
    /// A literal; `inf` is infinity.
    Const(f64),
    /// An integer: an axis, an extent, and arithmetic on them.
    Int(Index),
    /// A run-time scalar.
    Scalar(usize),
    /// An element of a tensor or temporary.
    Load(Place, Vec<Index>),
    /// An element where the index is inside, else the value.
    Pad(Place, Vec<Index>, Box<Expr>),
    /// A function of one value.
    Unary(Unary, Box<Expr>),
    /// A function of two values.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// The second where the first holds, else the third.
    Where(Box<[Expr; 3]>),
    /// Rounded to a dtype.
    Cast(DType, Box<Expr>),
    /// A reduction over loop variables, outermost first, which are bound inside.
    Reduce(ReduceOp, Vec<Loop>, Box<Expr>),
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

    /// `op` over the whole axis of `var`.
    #[must_use]
    pub fn reduce(self, op: ReduceOp, var: usize) -> Expr {
        Expr::Reduce(op, vec![Loop::whole(var)], Box::new(self))
    }

    /// The expressions directly below.
    #[must_use]
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Const(_) | Expr::Int(_) | Expr::Scalar(_) | Expr::Load(..) => Vec::new(),
            Expr::Pad(_, _, a) | Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Reduce(_, _, a) => vec![a],
            Expr::Binary(_, a, b) => vec![a, b],
            Expr::Where(parts) => parts.iter().collect(),
        }
    }

    /// This expression with every child replaced by `f(child)`.
    #[must_use]
    pub fn map_children(&self, f: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        match self {
            Expr::Const(_) | Expr::Int(_) | Expr::Scalar(_) | Expr::Load(..) => self.clone(),
            Expr::Pad(place, index, a) => Expr::Pad(*place, index.clone(), Box::new(f(a))),
            Expr::Unary(op, a) => f(a).unary(*op),
            Expr::Cast(dtype, a) => Expr::Cast(*dtype, Box::new(f(a))),
            Expr::Reduce(op, loops, body) => Expr::Reduce(*op, loops.clone(), Box::new(f(body))),
            Expr::Binary(op, a, b) => {
                let a = f(a);
                a.binary(*op, f(b))
            }
            Expr::Where(parts) => {
                let [c, a, b] = parts.as_ref();
                let (c, a) = (f(c), f(a));
                Expr::Where(Box::new([c, a, f(b)]))
            }
        }
    }

    /// Calls `f` on this expression and everything below it, outermost first.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.children().into_iter().for_each(|child| child.visit(f));
    }

    /// The indices that this node itself holds.
    #[must_use]
    pub fn indices(&self) -> Vec<&Index> {
        match self {
            Expr::Int(index) => vec![index],
            Expr::Load(_, indices) | Expr::Pad(_, indices, _) => indices.iter().collect(),
            Expr::Reduce(_, loops, _) => loops.iter().flat_map(Loop::bounds).collect(),
            Expr::Const(_)
            | Expr::Scalar(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Where(_)
            | Expr::Cast(..) => Vec::new(),
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn size(&self) -> usize {
        let mut nodes = 0;
        self.visit(&mut |_| nodes += 1);
        nodes
    }

    /// Whether a reduction stands in it.
    #[must_use]
    pub fn reduces(&self) -> bool {
        let mut found = false;
        self.visit(&mut |expr| found |= matches!(expr, Expr::Reduce(..)));
        found
    }

    /// This expression with free loop variables replaced by what `to` gives for them.
    #[must_use]
    pub fn subst(&self, to: &dyn Fn(usize) -> Option<Index>) -> Expr {
        let all = |indices: &[Index]| indices.iter().map(|index| index.subst(to)).collect();
        match self {
            Expr::Const(_) | Expr::Scalar(_) => self.clone(),
            Expr::Int(index) => Expr::Int(index.subst(to)),
            Expr::Load(place, indices) => Expr::Load(*place, all(indices)),
            Expr::Pad(place, indices, a) => Expr::Pad(*place, all(indices), Box::new(a.subst(to))),
            Expr::Reduce(op, loops, body) => {
                let bound = |index: &Option<Index>| index.as_ref().map(|index| index.subst(to));
                let one = |l: &Loop| Loop { var: l.var, from: bound(&l.from), to: bound(&l.to) };
                Expr::Reduce(*op, loops.iter().map(one).collect(), Box::new(body.subst(to)))
            }
            Expr::Unary(..) | Expr::Binary(..) | Expr::Where(_) | Expr::Cast(..) => {
                self.map_children(&mut |child| child.subst(to))
            }
        }
    }

    /// This expression with the free loop variable `from` renamed to `to`.
    #[must_use]
    pub fn rename(&self, from: usize, to: usize) -> Expr {
        self.subst(&|var| (var == from).then_some(Index::Var(to)))
    }

    /// Loop variables that occur free, in order of first appearance.
    #[must_use]
    pub fn free_vars(&self) -> Vec<usize> {
        let (mut seen, mut bound) = (Vec::new(), Vec::new());
        self.visit(&mut |expr| {
            expr.indices().into_iter().for_each(|index| index.vars(&mut seen));
            if let Expr::Reduce(_, loops, _) = expr {
                bound.extend(loops.iter().map(|l| l.var));
            }
        });
        seen.retain(|var| !bound.contains(var)); // variables are bound once each, so no name means two things
        seen
    }

    /// What it is; `of` tells what a place holds.
    #[must_use]
    pub fn kind(&self, of: &dyn Fn(Place) -> Kind) -> Kind {
        match self {
            Expr::Const(_) | Expr::Scalar(_) => Kind::Real,
            Expr::Int(_) => Kind::Int,
            Expr::Load(place, _) | Expr::Pad(place, ..) => of(*place),
            Expr::Cast(dtype, _) => Kind::of(*dtype),
            Expr::Where(parts) => match (parts[1].kind(of), parts[2].kind(of)) {
                (a, b) if a == b => a,
                _ => Kind::Real,
            },
            Expr::Unary(Unary::Not, _) => Kind::Cond,
            Expr::Unary(Unary::Neg | Unary::Abs | Unary::Sign, a) => a.kind(of),
            Expr::Unary(..) => Kind::Real,
            Expr::Binary(op, a, b) => match op {
                Binary::And | Binary::Or => Kind::Cond,
                _ if op.compares() => Kind::Cond,
                Binary::Div | Binary::Pow => Kind::Real,
                _ if a.kind(of) == Kind::Int && b.kind(of) == Kind::Int => Kind::Int,
                _ => Kind::Real,
            },
            Expr::Reduce(op, ..) if op.gives_index() => Kind::Int,
            Expr::Reduce(_, _, body) => body.kind(of),
        }
    }
}
