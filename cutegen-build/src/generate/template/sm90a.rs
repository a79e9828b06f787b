//! The templates of the `sm_90a` target: which fits a plan, and what all of them share.
//!
//! Sources take their parameters in the order of [`crate::print::all_args`]; the README beside the templates describes
//! placeholders and configurations.

mod elementwise;
mod lanes;
mod nest;
mod problem;
mod rowwise;
mod scan;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Unary};
use cutegen_spec::spec::Multiply;

use super::fill::fill;
use crate::generate::Candidate;
use crate::plan::Plan;
use crate::plan::family::Family;

const PRELUDE: &str = include_str!("sm90a/prelude.cuh.in");
const VALUES: &str = include_str!("sm90a/values.cuh.in");

/// Every candidate for the plan; none when no template computes its family or precision.
pub(super) fn candidates(plan: &Plan, toolchain: &str) -> Vec<Candidate> {
    match &plan.family {
        Family::Elementwise { .. } => elementwise::candidates(plan, toolchain),
        Family::Scan { .. } => scan::candidates(plan, toolchain),
        Family::Rowwise { rows: Some(rows), .. } => rowwise::candidates(plan, rows, toolchain),
        Family::Contraction { .. }
        | Family::Rowwise { rows: None, .. }
        | Family::Window
        | Family::General { .. } => Vec::new(),
    }
}

/// Whether values in f32, from inputs as they are, are what the spec asks for.
fn computes(plan: &Plan) -> bool {
    let precision = &plan.spec.precision;
    let f64_stored = plan.spec.tensors.iter().any(|tensor| tensor.dtype == DType::F64);
    precision.accumulate == DType::F32 && precision.multiply == Multiply::Native && !f64_stored
}

/// The preludes, for outputs of these types and values.
fn prelude(outputs: &[(DType, &Expr)], int: &str) -> String {
    let narrow = outputs.iter().all(|(dtype, value)| *dtype == DType::Bf16 && !sums_a_sigmoid(value));
    let prelude = fill(PRELUDE, &[("NARROW", &narrow.to_string())]);
    prelude + &fill(VALUES, &[("INT", int)])
}

/// Whether a sum or difference uses the result of a sigmoid-like function: then its error must be small absolutely,
/// and the hardware's exponential is not for it.
fn sums_a_sigmoid(value: &Expr) -> bool {
    let mut found = false;
    value.visit(&mut |expr| {
        if let Expr::Binary(Binary::Add | Binary::Sub, a, b) = expr {
            for side in [a, b] {
                side.visit(&mut |inner| {
                    found |= matches!(inner, Expr::Unary(Unary::Sigmoid | Unary::Silu | Unary::GeluTanh, _));
                });
            }
        }
    });
    found
}

/// The same of everything a plan computes.
fn sums_a_sigmoid_in(plan: &Plan) -> bool {
    plan.schedule.steps.iter().any(|step| sums_a_sigmoid(step.value.expr()))
}
