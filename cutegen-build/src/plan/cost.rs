//! [`Cost`]: bytes a kernel must move and operations it must do, from the schedule: the two sides of the roofline.

use cutegen_spec::math::{Expr, Place};
use cutegen_spec::spec::KernelSpec;

use super::schedule::{Schedule, Value};

/// The least work at given extents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Bytes: every input read once, every output written once.
    pub bytes: f64,
    /// Floating-point operations: each function, operator and reduction step counts one.
    pub flops: f64,
}

/// The cost at `axes` (extents by position).
#[must_use]
pub fn cost(spec: &KernelSpec, schedule: &Schedule, axes: &[i64]) -> Cost {
    let bytes = spec.tensors.iter().filter_map(|tensor| tensor.bytes(axes)).map(|b| b as f64).sum();
    let extent = |var: &usize| axes.get(schedule.vars[*var]).copied().unwrap_or(0) as f64;
    let flops = schedule.steps.iter().map(|step| {
        let points: f64 = step.vars.iter().map(extent).product();
        match &step.value {
            Value::Map(expr) => points * operations(expr),
            Value::Reduce { over, body, .. } => points * extent(over) * (operations(body) + 1.0),
        }
    });
    Cost { bytes, flops: flops.sum() }
}

fn operations(expr: &Expr) -> f64 {
    let mut count = 0.0;
    expr.visit(&mut |e| count += f64::from(u8::from(matches!(e, Expr::Unary(..) | Expr::Binary(..)))));
    count
}

/// Bytes of workspace that a kernel with temporaries of `bytes_each` bytes an element needs, per temporary.
#[must_use]
pub fn temp_elements(schedule: &Schedule, place: Place, axes: &[i64]) -> Option<i64> {
    match place {
        Place::Tensor(_) => None,
        Place::Temp(temp) => {
            schedule.temps[temp].axes.iter().try_fold(1_i64, |n, a| n.checked_mul(*axes.get(*a)?))
        }
    }
}
