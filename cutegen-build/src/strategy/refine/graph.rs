//! What a plan's graph asks of a run: when profiles help, and which rewrite the first round must try. Pure facts of the plan.

use std::collections::BTreeSet;

use cutegen_spec::math::{Binary, Expr, Place, ReduceOp};

use crate::generate::prompt::step::Demand;
use crate::plan::Plan;
use crate::plan::family::Family;
use crate::plan::schedule::Value;

/// The round from which a profile is told: late where structure matters most.
pub(super) fn profile_depth(plan: &Plan) -> usize {
    match plan.family {
        Family::Elementwise { .. } | Family::Rowwise { .. } | Family::Scan { .. } => 2,
        Family::Window => 3,
        Family::Contraction { .. } | Family::General { .. } => 5,
    }
}

/// What the first round of the stage structure must do.
pub(super) fn demand(plan: &Plan) -> Option<Demand> {
    match plan.family {
        Family::Window if is_convolution(plan) => Some(Demand::Convolution),
        Family::General { .. } => Some(Demand::Algebra),
        Family::Window
        | Family::Contraction { .. }
        | Family::Elementwise { .. }
        | Family::Rowwise { .. }
        | Family::Scan { .. } => None,
    }
}

/// Whether some sum adds products of two inputs.
fn is_convolution(plan: &Plan) -> bool {
    let sums = plan.schedule.steps.iter().filter_map(|step| match &step.value {
        Value::Reduce { op: ReduceOp::Sum, body, .. } => Some(body),
        Value::Reduce { .. } | Value::Map(_) | Value::Scan { .. } => None,
    });
    sums.into_iter().any(|body| {
        let mut found = false;
        body.visit(&mut |part| {
            if let Expr::Binary(Binary::Mul, left, right) = part {
                let [left, right] = [left, right].map(|side| tensors(side));
                found |= !left.is_empty() && !right.is_empty() && left.union(&right).count() > 1;
            }
        });
        found
    })
}

fn tensors(of: &Expr) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    of.visit(&mut |part| {
        if let Expr::Load(Place::Tensor(tensor), _) | Expr::Pad(Place::Tensor(tensor), ..) = part {
            found.insert(*tensor);
        }
    });
    found
}
