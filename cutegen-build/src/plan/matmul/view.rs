//! [`View`]: where the elements of a factor lie, as an offset and a stride for each loop variable. Symbolic in the axes.

use std::collections::BTreeMap;

use cutegen_spec::axis::{Axis, Extent};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::Index;
use cutegen_spec::tensor::Tensor;

/// A tensor, read at `offset + sum of variable * stride`, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The tensor.
    pub tensor: usize,
    /// Where it begins.
    pub offset: IntExpr,
    /// Elements from one value of a variable to the next, of those that move it.
    pub strides: BTreeMap<usize, IntExpr>,
}

impl View {
    /// The view of a tensor at this index; `None` where an index is no sum of multiples of variables.
    #[must_use]
    pub fn of(position: usize, tensor: &Tensor, index: &[Index]) -> Option<View> {
        let mut view = View { tensor: position, offset: IntExpr::Const(0), strides: BTreeMap::new() };
        for (index, stride) in index.iter().zip(tensor.stride_exprs()) {
            let line = Line::of(index)?;
            view.offset = add(view.offset, mul(line.offset, stride.clone()));
            for (var, factor) in line.factors {
                let step = mul(factor, stride.clone());
                let known = view.strides.remove(&var);
                view.strides.insert(var, known.map_or(step.clone(), |known| add(known, step)));
            }
        }
        Some(view)
    }

    /// The same with variables renamed.
    pub(super) fn renamed(mut self, to: &dyn Fn(usize) -> usize) -> View {
        self.strides = self.strides.into_iter().map(|(var, stride)| (to(var), stride)).collect();
        self
    }

    /// The stride of a variable; 0 of one that does not move it.
    #[must_use]
    pub fn stride(&self, var: usize) -> IntExpr {
        self.strides.get(&var).cloned().unwrap_or(IntExpr::Const(0))
    }

    /// Whether these variables, outermost first, are one dimension: each strides over the whole of the next.
    pub(super) fn is_one_dimension(&self, axes: &[Axis], of: &[usize], vars: &[usize]) -> bool {
        vars.windows(2).all(|pair| {
            let over = mul(IntExpr::Axis(of[pair[1]]), self.stride(pair[1]));
            product(axes, &self.stride(pair[0])) == product(axes, &over)
        })
    }
}

/// An index as a sum: an offset, and a factor for each variable.
struct Line {
    offset: IntExpr,
    factors: BTreeMap<usize, IntExpr>,
}

impl Line {
    fn of(index: &Index) -> Option<Line> {
        let fixed = |offset: IntExpr| Some(Line { offset, factors: BTreeMap::new() });
        match index {
            Index::Const(value) => fixed(IntExpr::Const(*value)),
            Index::Extent(axis) => fixed(IntExpr::Axis(*axis)),
            Index::Var(var) => {
                Some(Line { offset: IntExpr::Const(0), factors: BTreeMap::from([(*var, IntExpr::Const(1))]) })
            }
            Index::Read(..) => None,
            Index::Op(op, a, b) => Line::of(a)?.with(*op, Line::of(b)?),
        }
    }

    fn with(mut self, op: IntOp, other: Line) -> Option<Line> {
        match op {
            IntOp::Add => {
                self.offset = add(self.offset, other.offset);
                for (var, factor) in other.factors {
                    let known = self.factors.remove(&var);
                    self.factors.insert(var, known.map_or(factor.clone(), |known| add(known, factor)));
                }
                Some(self)
            }
            IntOp::Mul if other.factors.is_empty() => Some(self.times(&other.offset)),
            IntOp::Mul if self.factors.is_empty() => Some(other.times(&self.offset)),
            IntOp::Sub if other.factors.is_empty() && self.factors.is_empty() => {
                self.offset = IntExpr::op(op, self.offset, other.offset);
                Some(self)
            }
            _ if other.factors.is_empty() && self.factors.is_empty() => {
                self.offset = IntExpr::op(op, self.offset, other.offset);
                Some(self)
            }
            IntOp::Sub | IntOp::Mul | IntOp::Div | IntOp::Rem | IntOp::CeilDiv | IntOp::Min | IntOp::Max => {
                None
            }
        }
    }

    fn times(mut self, by: &IntExpr) -> Line {
        self.offset = mul(self.offset, by.clone());
        self.factors.values_mut().for_each(|factor| *factor = mul(factor.clone(), by.clone()));
        self
    }
}

/// `a + b`, without zeros.
fn add(a: IntExpr, b: IntExpr) -> IntExpr {
    match (&a, &b) {
        (IntExpr::Const(0), _) => b,
        (_, IntExpr::Const(0)) => a,
        _ => IntExpr::op(IntOp::Add, a, b),
    }
}

/// `a * b`, without zeros and ones.
pub(super) fn mul(a: IntExpr, b: IntExpr) -> IntExpr {
    match (&a, &b) {
        (IntExpr::Const(0), _) | (_, IntExpr::Const(0)) => IntExpr::Const(0),
        (IntExpr::Const(1), _) => b,
        (_, IntExpr::Const(1)) => a,
        _ => IntExpr::op(IntOp::Mul, a, b),
    }
}

/// An expression as a constant times factors in order, so that equal products compare equal.
fn product(axes: &[Axis], expr: &IntExpr) -> (i64, Vec<IntExpr>) {
    match expr {
        IntExpr::Const(value) => (*value, Vec::new()),
        IntExpr::Axis(axis) => match &axes[*axis].extent {
            Extent::Const(value) => (*value, Vec::new()),
            Extent::Derived(derived) => product(axes, derived),
            Extent::Range { .. } => (1, vec![expr.clone()]),
        },
        IntExpr::Op(IntOp::Mul, a, b) => {
            let ((x, mut factors), (y, more)) = (product(axes, a), product(axes, b));
            factors.extend(more);
            factors.sort();
            (x.saturating_mul(y), factors)
        }
        IntExpr::Op(..) | IntExpr::Device(_) => (1, vec![expr.clone()]),
    }
}
