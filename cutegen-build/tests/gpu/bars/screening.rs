//! How long screening a candidate takes once it is compiled: those that a search would try first, in one session, of which
//! the first pays for what the session makes once. Where no template has any, the naive kernel, as often.

use std::time::Instant;

use cutegen_build::evaluate::Outcome;

use super::budget::Budget;
use super::search::Subject;
use super::{keep, median};
use crate::specs;

const CANDIDATES: usize = 10;
const MOST_S: f64 = 0.15;

/// Of each family some.
const KERNELS: [&str; 14] = [
    "silu_mul",
    "gelu",
    "bias_add",
    "softmax",
    "rms_norm",
    "cross_entropy",
    "cumsum",
    "gemm_bf16",
    "gemm_f32",
    "gemm_int8",
    "gemv_nt_bf16",
    "conv2d",
    "attention_causal",
    "attention_decode",
];

/// One kernel's candidates, in order.
#[derive(serde::Serialize)]
struct Row {
    kernel: String,
    family: String,
    outcome: String,
    /// Whether a template made them.
    is_of_template: bool,
    /// With the runner's start, references and the baseline's errors.
    first_s: f64,
    seconds: Vec<f64>,
}

pub(super) fn candidates_are_screened_soon() {
    let budget = Budget::of_environment();
    let mut plans = budget.chosen(specs::plans(false));
    plans.retain(|plan| KERNELS.contains(&plan.spec.name.as_str()));
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    for plan in plans {
        if !budget.has_time() {
            left.push(plan.spec.name.to_string());
            continue;
        }
        let row = screened(&Subject::new(plan));
        println!("    {}: {}; first {:.3} s, then {:.3?}", row.kernel, row.outcome, row.first_s, row.seconds);
        rows.push(row);
        keep("screening", &serde_json::json!({ "rows": rows, "not_measured": left }));
    }
    keep("screening", &serde_json::json!({ "rows": rows, "not_measured": left }));
    let all: Vec<f64> = rows.iter().flat_map(|row| row.seconds.iter().copied()).collect();
    let largest = all.iter().copied().fold(0.0, f64::max);
    println!("    median {:.3} s, largest {largest:.3} s; not measured: {left:?}", median(all));
    let passed = rows.iter().all(|row| row.outcome.starts_with("passed"));
    assert!(passed && largest <= MOST_S, "largest {largest:.3} s");
}

fn screened(subject: &Subject) -> Row {
    let found = subject.tried_first(CANDIDATES);
    let is_of_template = !found.is_empty();
    let all = if is_of_template { found } else { vec![subject.naive.clone(); CANDIDATES] };
    let mut judge = subject.judge();
    let mut outcome = String::new();
    let mut seconds: Vec<f64> = Vec::with_capacity(all.len());
    for candidate in &all {
        let start = Instant::now();
        let found = judge.screen(candidate);
        seconds.push(start.elapsed().as_secs_f64());
        let is_passed = matches!(found, Ok(Outcome::Passed { .. }));
        outcome = found.map_or_else(|error| format!("error: {error}"), |outcome| outcome.to_string());
        if !is_passed {
            break;
        }
    }
    let first_s = seconds.remove(0);
    let (kernel, family) = (subject.name.clone(), subject.family.clone());
    Row { kernel, family, outcome, is_of_template, first_s, seconds }
}
