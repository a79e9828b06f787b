//! The templates of GPUs: which fits a plan, and what all of them share. What an architecture lacks, no candidate uses: they
//! ask the target for its features. Origins in records name them `template sm90a/...`, after the architecture they were first for.
//!
//! Sources take their parameters in the order of [`crate::print::all_args`]; the README beside the templates describes
//! placeholders and configurations.

mod elementwise;
mod lanes;
mod narrow;
mod nest;
mod problem;
mod product;
mod rowwise;
mod scan;

use cutegen_spec::arch::Feature;
use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Expr, ReduceOp};
use cutegen_spec::spec::Multiply;

use super::fill::fill;
use crate::generate::Candidate;
use crate::plan::Plan;
use crate::plan::family::Family;
use crate::plan::schedule::Value;

const PRELUDE: &str = include_str!("device/prelude.cuh.in");
const VALUES: &str = include_str!("device/values.cuh.in");

/// The first so many candidates for the plan; none when no template computes its family or precision.
pub(super) fn candidates(plan: &Plan, at_most: usize) -> Vec<Candidate> {
    if lacking(plan).is_some() {
        return Vec::new();
    }
    match &plan.family {
        Family::Elementwise { .. } => elementwise::candidates(plan, at_most),
        Family::Scan { .. } => scan::candidates(plan, at_most),
        Family::Rowwise { rows: Some(rows), .. } => rowwise::candidates(plan, rows, at_most),
        Family::Contraction { .. } => product::candidates(plan, at_most),
        Family::Rowwise { rows: None, .. } | Family::Window | Family::General { .. } => Vec::new(),
    }
}

/// What the architecture lacks that every kernel of the plan needs.
pub(super) fn lacking(plan: &Plan) -> Option<Feature> {
    let of_tensors = plan.spec.tensors.iter().any(|tensor| is_f8(tensor.dtype));
    let needs = of_tensors || plan.schedule.steps.iter().any(|step| casts_to_f8(body(&step.value)));
    (needs && !plan.target.has(Feature::Fp8)).then_some(Feature::Fp8)
}

fn body(value: &Value) -> &Expr {
    match value {
        Value::Map(body) | Value::Reduce { body, .. } | Value::Scan { body, .. } => body,
    }
}

fn is_f8(dtype: DType) -> bool {
    matches!(dtype, DType::F8e4m3 | DType::F8e5m2)
}

fn casts_to_f8(body: &Expr) -> bool {
    let mut found = false;
    body.visit(&mut |expr| found |= matches!(expr, Expr::Cast(dtype, _) if is_f8(*dtype)));
    found
}

/// Whether values in f32, from inputs as they are, are what the spec asks for.
fn computes(plan: &Plan) -> bool {
    let precision = &plan.spec.precision;
    let f64_stored = plan.spec.tensors.iter().any(|tensor| tensor.dtype == DType::F64);
    precision.accumulate == DType::F32 && precision.multiply == Multiply::Native && !f64_stored
}

/// The preludes, for outputs of these types and values and what is scanned on the way.
fn prelude(outputs: &[(DType, &Expr)], scanned: &[&Expr], int: &str) -> String {
    let reduced = scanned.iter().map(|body| (ReduceOp::Sum, None, *body)).collect();
    let values = narrow::Values { outputs: outputs.to_vec(), reduced, cols: &[] };
    let prelude = fill(PRELUDE, &values.holes());
    prelude + &fill(VALUES, &[("INT", int)])
}
