//! [`Merge`]: reductions over reductions that parts of a row can do by themselves: each with what it knows of its own
//! elements, put right once the whole row is known. It spares a pass over the row, or a barrier between its parts.

use cutegen_spec::math::{Binary, Expr, Place, ReduceOp, Unary};

use super::{Reduced, Rows};

/// How a part's sum becomes one over the whole row.
#[derive(Clone, Debug, PartialEq)]
pub enum Merge {
    /// A sum of `exp(x - top)`, where `top` is the largest x: times `exp(top of the part - top)`.
    Exponentials {
        /// Temporary of the largest.
        top: usize,
    },
    /// A sum of `(x - c) * (x - c)`, where c comes of the sum of x: by the theorem of parallel axes.
    Squares {
        /// Temporary of the sum.
        sum: usize,
        /// c, in terms of that temporary.
        center: Expr,
    },
}

impl Rows {
    /// For each reduction of level 1, in order, how it merges; `None` unless there are two levels and all do.
    #[must_use]
    pub fn merges(&self) -> Option<Vec<Merge>> {
        let upper = self.reductions.iter().filter(|r| r.level == 1);
        let merges: Option<Vec<Merge>> = upper.map(|reduced| self.merge(reduced)).collect();
        merges.filter(|_| self.levels() == 2)
    }

    fn merge(&self, reduced: &Reduced) -> Option<Merge> {
        match (&reduced.op, &reduced.body) {
            (ReduceOp::Sum, Expr::Unary(Unary::Exp, inner)) => {
                let (x, top) = difference(inner)?;
                let Expr::Load(Place::Temp(top), _) = top else { return None };
                self.is(*top, ReduceOp::Max, x).then_some(Merge::Exponentials { top: *top })
            }
            (ReduceOp::Sum, Expr::Binary(Binary::Mul, left, right)) if left == right => {
                let (x, center) = difference(left)?;
                let [sum] = temps(center)[..] else { return None };
                let shared = !center.free_vars().iter().any(|var| self.cols.contains(var));
                let found = shared && self.is(sum, ReduceOp::Sum, x);
                found.then(|| Merge::Squares { sum, center: center.clone() })
            }
            _ => None,
        }
    }

    /// Whether a temporary is that reduction of `body`, by itself.
    fn is(&self, temp: usize, op: ReduceOp, body: &Expr) -> bool {
        self.reductions.iter().any(|r| (r.temp, r.op, &r.body, r.level) == (temp, op, body, 0))
    }
}

fn difference(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::Binary(Binary::Sub, a, b) => Some((a, b)),
        _ => None,
    }
}

/// The temporaries that `expr` loads, each once.
fn temps(expr: &Expr) -> Vec<usize> {
    let mut found = Vec::new();
    expr.visit(&mut |e| {
        if let Expr::Load(Place::Temp(t), _) = e
            && !found.contains(t)
        {
            found.push(*t);
        }
    });
    found
}
