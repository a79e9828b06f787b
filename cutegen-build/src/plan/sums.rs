//! Whether a kernel is nothing but sums of products of its inputs, and what the gate may conclude from that. Pure.

use cutegen_spec::math::{Binary, Expr, Place, ReduceOp};

use super::Plan;
use super::schedule::{Step, Value};

/// Whether all that is computed are sums of products of inputs, and nothing after them: integers stay integers up to
/// the last rounding, and every error is that of a sum.
#[must_use]
pub fn only_sums(plan: &Plan) -> bool {
    let exact = |step: &Step| match &step.value {
        Value::Map(value) => matches!(value, Expr::Load(..)),
        Value::Reduce { op: ReduceOp::Sum, body, .. } => is_product(body),
        Value::Reduce { .. } | Value::Scan { .. } => false,
    };
    plan.schedule.steps.iter().all(exact)
}

/// Whether `body` is a product of elements of inputs.
fn is_product(body: &Expr) -> bool {
    match body {
        Expr::Load(Place::Tensor(_), _) => true,
        Expr::Binary(Binary::Mul, a, b) => is_product(a) && is_product(b),
        _ => false,
    }
}
