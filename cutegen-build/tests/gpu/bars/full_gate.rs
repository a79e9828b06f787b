//! How long the whole gate takes for one finalist, as a final evaluation has it: correctness in full with the naive kernel behind
//! it, then every workload in bursts, and the heaviest without pause. The finalist is what a search would try first, or the naive
//! kernel where no template fits. Peers are left out; compute-sanitizer is timed apart, for some kernels.

use std::time::Instant;

use cutegen_build::evaluate::judge::sanitize::{Tool, locate};
use cutegen_build::evaluate::wire::protocol::Regime;
use cutegen_build::evaluate::{Candidate, Error, Incumbent, Judge, Outcome};

use super::budget::Budget;
use super::search::Subject;
use super::{keep, median};
use crate::specs;

const MEDIAN_S: f64 = 10.0;
const LARGEST_S: f64 = 60.0;
const SANITIZED: [&str; 6] = ["silu_mul", "softmax", "rms_norm", "cumsum", "gemm_bf16", "conv2d"];

/// One finalist.
#[derive(Default, serde::Serialize)]
struct Row {
    kernel: String,
    family: String,
    /// Whether a template made the finalist.
    is_of_template: bool,
    outcome: String,
    passed: bool,
    /// Opening the session: apart, as it is once a search.
    open_s: f64,
    /// References are made within.
    correctness_s: f64,
    burst_s: f64,
    sustained_s: f64,
    /// All but opening and the sanitizer.
    gate_s: f64,
    workloads: usize,
    sanitizer_s: Option<f64>,
    sanitizer: Option<String>,
}

pub(super) fn finalists_are_judged_soon() {
    let budget = Budget::of_environment();
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    for plan in budget.chosen(specs::plans(false)) {
        if !budget.has_time() {
            left.push(plan.spec.name.to_string());
            continue;
        }
        let row = gated(&Subject::new(plan));
        println!(
            "    {}: {:.1} s ({:.1} correctness, {:.1} bursts, {:.1} sustained): {}",
            row.kernel, row.gate_s, row.correctness_s, row.burst_s, row.sustained_s, row.outcome
        );
        rows.push(row);
        keep("full_gate", &serde_json::json!({ "rows": rows, "not_measured": left }));
    }
    keep("full_gate", &serde_json::json!({ "rows": rows, "not_measured": left }));
    let largest = rows.iter().map(|row| row.gate_s).fold(0.0, f64::max);
    let middle = median(rows.iter().map(|row| row.gate_s));
    println!(
        "    {} finalists: median {middle:.1} s, largest {largest:.1} s; not measured: {left:?}",
        rows.len()
    );
    let failed: Vec<&str> = rows.iter().filter(|row| !row.passed).map(|row| row.kernel.as_str()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(middle <= MEDIAN_S && largest <= LARGEST_S, "median {middle:.1} s, largest {largest:.1} s");
}

fn gated(subject: &Subject) -> Row {
    let (kernel, family) = (subject.name.clone(), subject.family.clone());
    let made = subject.tried_first(1).pop();
    let mut row = Row { kernel, family, is_of_template: made.is_some(), ..Row::default() };
    let finalist = made.unwrap_or_else(|| subject.naive.clone());
    let mut judge = timed(&mut row.open_s, || subject.judge());
    let told = judged(subject, &finalist, &mut judge, &mut row);
    row.gate_s = row.correctness_s + row.burst_s + row.sustained_s;
    row.outcome = told.unwrap_or_else(|error| format!("error: {error}"));
    if SANITIZED.contains(&subject.name.as_str()) {
        sanitized(&finalist, &mut judge, &mut row);
    }
    row
}

/// The gate, in the order of a final evaluation; in words what came of it.
fn judged(
    subject: &Subject,
    finalist: &Candidate,
    judge: &mut Judge,
    row: &mut Row,
) -> Result<String, Error> {
    let incumbent = Incumbent::Variant(subject.naive.clone());
    let outcome = timed(&mut row.correctness_s, || judge.full(&[finalist.clone(), subject.naive.clone()]))?;
    if !matches!(outcome, Outcome::Passed { .. }) {
        return Ok(outcome.to_string());
    }
    let spec = &subject.plan.spec;
    let mut heaviest: Option<(f64, Vec<i64>)> = None;
    for axes in spec.workloads.iter().filter_map(|workload| spec.bind(&workload.axes).ok()) {
        row.workloads += 1;
        let burst = timed(&mut row.burst_s, || judge.measure(finalist, &incumbent, &axes, Regime::Burst))?;
        let took = match burst {
            Ok(burst) => burst.comparison,
            Err(outcome) => return Ok(format!("burst at {axes:?}: {outcome:?}")),
        };
        if took.may_last() && heaviest.as_ref().is_none_or(|(most, _)| took.candidate_us > *most) {
            heaviest = Some((took.candidate_us, axes));
        }
    }
    if let Some((_, axes)) = heaviest {
        let measure = || judge.measure(finalist, &incumbent, &axes, Regime::Sustained);
        if let Err(outcome) = timed(&mut row.sustained_s, measure)? {
            return Ok(format!("sustained at {axes:?}: {outcome:?}"));
        }
    }
    row.passed = true;
    Ok(outcome.to_string())
}

fn sanitized(finalist: &Candidate, judge: &mut Judge, row: &mut Row) {
    let (path, home) = (std::env::var_os("PATH"), std::env::var_os("CUDA_HOME"));
    let Some(program) = locate(path.as_deref(), home.as_deref()) else {
        row.sanitizer = Some("not run: no compute-sanitizer on this machine".to_owned());
        return;
    };
    let mut seconds = 0.0;
    let found = timed(&mut seconds, || {
        judge.sanitize(std::slice::from_ref(finalist), &program, &Tool::ALL).map(|mut seen| seen.remove(0))
    });
    row.sanitizer = Some(format!("{found:?}"));
    row.sanitizer_s = Some(seconds);
}

/// Adds the seconds that `work` takes.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    *seconds += start.elapsed().as_secs_f64();
    done
}
