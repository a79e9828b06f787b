//! [`Active`]: how many operations a step takes at a point of its loops on the average, with what a kernel may leave out
//! counted as nothing: points outside bounds, padded elements, branches that a condition on integers does not take.

use cutegen_spec::int_expr::IntOp;
use cutegen_spec::math::{Binary, Expr, Index, Loop, Place, Unary};
use cutegen_spec::spec::KernelSpec;

use super::schedule::Schedule;

/// Points that are looked at, if a step has more.
const SAMPLES: u64 = 4096;

/// A schedule at given extents.
pub(super) struct Active<'a> {
    pub(super) spec: &'a KernelSpec,
    pub(super) schedule: &'a Schedule,
    pub(super) axes: &'a [i64],
}

/// The values of loop variables at one point.
struct Point<'a> {
    of: &'a Active<'a>,
    values: Vec<(usize, i64)>,
}

impl Active<'_> {
    /// Operations of `expr` and `last` more at a point of `loops`, on the average over the box of their whole axes. All
    /// points are looked at where what masks them has few, else a spread of them.
    pub(super) fn mean(&self, loops: &[Loop], expr: &Expr, last: f64) -> f64 {
        let named = masking(loops, expr);
        let vars: Vec<usize> = loops.iter().map(|l| l.var).filter(|var| named.contains(var)).collect();
        let extents: Vec<i64> = vars.iter().map(|var| self.extent(*var)).collect();
        if extents.contains(&0) {
            return 0.0;
        }
        let points = extents.iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent as u64));
        let all = points.filter(|points| *points <= SAMPLES);
        let count = all.unwrap_or(SAMPLES);
        let one = |number: u64| {
            let at = if all.is_some() { unravel(number, &extents) } else { spread(number, &extents) };
            let point = Point { of: self, values: vars.iter().copied().zip(at).collect() };
            if !loops.iter().all(|l| point.is_within(l)) {
                return 0.0;
            }
            point.operations(expr).map_or(0.0, |operations| operations + last)
        };
        (0..count).map(one).sum::<f64>() / count as f64
    }

    fn extent(&self, var: usize) -> i64 {
        self.axes.get(self.schedule.vars[var]).copied().unwrap_or(0).max(0)
    }
}

/// The variables on which it depends whether something is computed.
fn masking(loops: &[Loop], expr: &Expr) -> Vec<usize> {
    let mut named = Vec::new();
    for bounded in loops.iter().filter(|l| !l.is_whole()) {
        named.push(bounded.var);
        bounded.bounds().for_each(|bound| bound.vars(&mut named));
    }
    expr.visit(&mut |e| match e {
        Expr::Pad(_, index, _) => index.iter().for_each(|index| index.vars(&mut named)),
        Expr::Where(parts) => parts[0].visit(&mut |c| {
            c.indices().into_iter().for_each(|index| index.vars(&mut named));
        }),
        _ => {}
    });
    named
}

/// The coordinates of a point by its number.
fn unravel(mut number: u64, extents: &[i64]) -> Vec<i64> {
    let one = |extent: &i64| {
        let at = number % *extent as u64;
        number /= *extent as u64;
        at as i64
    };
    extents.iter().map(one).collect()
}

/// The coordinates of one of [`SAMPLES`] points that cover a box evenly: multiples of the inverse powers of the number
/// that solves `x^(d + 1) = x + 1`, which generalise the golden ratio to d dimensions.
fn spread(number: u64, extents: &[i64]) -> Vec<i64> {
    let mut root = 1.5_f64;
    for _ in 0..32 {
        root = (1.0 + root).powf(1.0 / (extents.len() as f64 + 1.0));
    }
    let one = |(dim, extent): (usize, &i64)| {
        let part = (0.5 + (number as f64 + 1.0) * root.powi(-(dim as i32 + 1))).fract();
        ((part * *extent as f64) as i64).min(extent - 1)
    };
    extents.iter().enumerate().map(one).collect()
}

impl Point<'_> {
    /// Whether it is within the bounds of a loop. A bound that is read from an input leaves half.
    fn is_within(&self, l: &Loop) -> bool {
        let at = self.index(&Index::Var(l.var)).unwrap_or(0);
        let half = self.of.extent(l.var) / 2;
        let from = l.from.as_ref().map_or(0, |from| self.index(from).unwrap_or(half));
        let to = l.to.as_ref().map_or(i64::MAX, |to| self.index(to).unwrap_or(half));
        from <= at && at < to
    }

    /// The value of an index that reads no input.
    fn index(&self, index: &Index) -> Option<i64> {
        match index {
            Index::Const(value) => Some(*value),
            Index::Extent(axis) => self.of.axes.get(*axis).copied(),
            Index::Var(var) => self.values.iter().find(|(of, _)| of == var).map(|(_, value)| *value),
            Index::Read(..) => None,
            Index::Op(op, a, b) => op.apply(self.index(a)?, self.index(b)?),
        }
    }

    /// Whether a condition on integers holds here; `None` of one that depends on more.
    fn holds(&self, condition: &Expr) -> Option<bool> {
        match condition {
            Expr::Unary(Unary::Not, a) => Some(!self.holds(a)?),
            Expr::Binary(Binary::And, a, b) => match (self.holds(a), self.holds(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (a, b) => Some(a? && b?),
            },
            Expr::Binary(Binary::Or, a, b) => match (self.holds(a), self.holds(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (a, b) => Some(a? || b?),
            },
            Expr::Binary(op, a, b) => {
                let order = self.integer(a)?.cmp(&self.integer(b)?);
                match op {
                    Binary::Lt => Some(order.is_lt()),
                    Binary::Le => Some(order.is_le()),
                    Binary::Gt => Some(order.is_gt()),
                    Binary::Ge => Some(order.is_ge()),
                    Binary::Eq => Some(order.is_eq()),
                    Binary::Ne => Some(order.is_ne()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn integer(&self, expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Int(index) => self.index(index),
            Expr::Const(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(*value as i64),
            Expr::Unary(Unary::Neg, a) => self.integer(a)?.checked_neg(),
            Expr::Binary(op, a, b) => {
                let op = match op {
                    Binary::Add => IntOp::Add,
                    Binary::Sub => IntOp::Sub,
                    Binary::Mul => IntOp::Mul,
                    Binary::Rem => IntOp::Rem,
                    _ => return None,
                };
                op.apply(self.integer(a)?, self.integer(b)?)
            }
            _ => None,
        }
    }

    /// Operations of `expr` here; `None` where it is a constant that nothing has to be done for.
    fn operations(&self, expr: &Expr) -> Option<f64> {
        match expr {
            Expr::Const(_) | Expr::Int(_) | Expr::Scalar(_) | Expr::Load(..) => Some(0.0),
            Expr::Pad(place, index, other) => {
                if !self.is_inside(*place, index) {
                    self.chosen(other)
                } else {
                    Some(0.0)
                }
            }
            Expr::Binary(op, a, b) if op.compares() || matches!(op, Binary::And | Binary::Or) => {
                Some(self.operations(a)? + self.operations(b)?)
            }
            Expr::Where(parts) => match self.holds(&parts[0]) {
                Some(holds) => self.chosen(&parts[if holds { 1 } else { 2 }]),
                None => {
                    let (a, b) = (self.operations(&parts[1])?, self.operations(&parts[2])?);
                    Some(a.min(b))
                }
            },
            Expr::Cast(_, a) | Expr::Unary(_, a) => Some(self.operations(a)? + 1.0),
            Expr::Binary(op, a, b) => match (self.operations(a), self.operations(b)) {
                (Some(a), Some(b)) => Some(a + b + 1.0),
                (None, None) => None,
                (None, _) | (_, None) if *op == Binary::Mul => None,
                (Some(one), None) | (None, Some(one)) => Some(one),
            },
            Expr::Reduce(_, _, body) => self.operations(body),
        }
    }

    /// Whether an element is one of its place; so is one whose index an input decides.
    fn is_inside(&self, place: Place, index: &[Index]) -> bool {
        let axes = self.of.axes;
        let extent = |dim: usize| match place {
            Place::Tensor(t) => self.of.spec.tensors[t].dims[dim].eval(axes, &|_| None),
            Place::Temp(t) => axes.get(self.of.schedule.temps[t].axes[dim]).copied(),
        };
        index.iter().enumerate().all(|(dim, index)| match (self.index(index), extent(dim)) {
            (Some(at), Some(extent)) => (0..extent).contains(&at),
            _ => true,
        })
    }

    /// The operations of a branch that is taken: none for a literal.
    fn chosen(&self, expr: &Expr) -> Option<f64> {
        match expr {
            Expr::Const(_) => None,
            other => self.operations(other),
        }
    }
}
