//! What a plan's graph asks of a run: when profiles help, and which rewrite the first round must try. Pure facts of the plan.

use crate::generate::prompt::step::Demand;
use crate::plan::family::Family;
use crate::plan::{Plan, sums};

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
        Family::Window if sums::multiplies(plan) => Some(Demand::Convolution),
        Family::General { .. } => Some(Demand::Algebra),
        Family::Window
        | Family::Contraction { .. }
        | Family::Elementwise { .. }
        | Family::Rowwise { .. }
        | Family::Scan { .. } => None,
    }
}
