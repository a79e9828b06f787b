//! Every legal point of the templates' spaces for some kernels, timed at every workload: what a search could find at
//! best, and what its cost model is held against. Of the bar table's kernels (`CUTEGEN_BARS`) those that are named. Times are
//! the gate's, with the device to themselves: another kernel's points may be compiled meanwhile.

use std::time::Instant;

use cutegen_build::evaluate::{Candidate, Judge};
use cutegen_build::generate;
use cutegen_build::generate::template::Templates;
use cutegen_build::refine;

use super::budget::Budget;
use super::search::Subject;
use super::{keep, leased};
use crate::{fixtures, specs, table};

/// Unless others are named: of each family of templates some, with rows short and long, one and several streams. The cost estimate's
/// constants were chosen by timings of half of them, what is tried by all.
const KERNELS: [&str; 16] = [
    "silu_mul",
    "softmax_bf16",
    "softmax",
    "rms_norm",
    "add_rms_norm",
    "layer_norm",
    "rms_norm_fp8",
    "log_softmax",
    "gelu_bf16",
    "gelu_tanh_mul",
    "softmax_temperature",
    "l1_norm",
    "l2_norm",
    "layer_norm_plain",
    "group_norm",
    "quantise_int8",
];

/// One timing.
#[derive(serde::Serialize)]
struct Row {
    kernel: String,
    candidate: String,
    axes: Vec<i64>,
    /// Of a launch, in microseconds; none where the candidate is not eligible or was not timed.
    micros: Option<f64>,
    /// Why it was not timed.
    outcome: Option<String>,
}

pub(super) fn points_are_timed() {
    let budget = Budget::of_environment();
    leased(&cutegen_runtime::cuda::context(0).expect("a device"));
    let mut rows = Vec::new();
    let (mut left, mut shares) = (Vec::new(), Vec::new());
    let mut plans = specs::plans(false);
    if budget.names_some() {
        plans.extend(table::plans());
    } else {
        plans.retain(|plan| KERNELS.contains(&plan.spec.name.as_str()));
    }
    for plan in budget.chosen(plans) {
        if !budget.has_time() {
            left.push(plan.spec.name.to_string());
            continue;
        }
        let subject = Subject::new(plan);
        let candidates = Templates::new("").space(&subject.plan);
        let started = Instant::now();
        let gates = fixtures::compiled(&candidates);
        let compiling = started.elapsed().as_secs_f64();
        let mut judge = subject.judge();
        let (before, open) = (rows.len(), left.len());
        for axes in subject.workloads() {
            if budget.has_time() {
                timed(&subject, &mut judge, (&candidates, &gates), &axes, &mut rows);
            } else {
                left.push(format!("{} at {axes:?}", subject.name));
            }
        }
        println!(
            "    {}: {} points compiled in {compiling:.1} s, {} timings, {:.1} s in all",
            subject.name,
            candidates.len(),
            rows.len() - before,
            started.elapsed().as_secs_f64()
        );
        best(&rows[before..]);
        if left.len() > open {
            keep("sweep", &serde_json::json!({ "rows": rows, "found": shares, "not_measured": left }));
            continue; // what was not timed at every workload says nothing of a search
        }
        let (share, tried) = found(&subject, &candidates, &rows[before..]);
        let (kernel, points) = (&subject.name, candidates.len());
        shares
            .push(serde_json::json!({ "kernel": kernel, "points": points, "tried": tried, "share": share }));
        println!("      a search tries {tried} of them and comes within {:.1} %", 100.0 * (share - 1.0));
        keep("sweep", &serde_json::json!({ "rows": rows, "found": shares, "not_measured": left }));
    }
    assert!(!rows.is_empty(), "no kernel was chosen");
}

/// All that are eligible at a workload, in batches with the first of them.
fn timed(
    subject: &Subject,
    judge: &mut Judge,
    (candidates, gates): (&[generate::Candidate], &[Candidate]),
    axes: &[i64],
    rows: &mut Vec<Row>,
) {
    let addresses = vec![0; subject.plan.spec.tensors.len()];
    let eligible: Vec<usize> =
        (0..candidates.len()).filter(|at| candidates[*at].eligibility.holds(axes, &addresses)).collect();
    let Some(batch_reference) = eligible.first().map(|at| &gates[*at]) else { return };
    let lined: Vec<Candidate> = eligible.iter().map(|at| gates[*at].clone()).collect();
    let rankings = judge.batch(batch_reference, &lined, axes, usize::MAX).expect("the machine works");
    for (at, compared) in eligible.into_iter().zip(rankings) {
        let (micros, outcome) = match compared {
            Ok(compared) => (Some(compared.candidate_us), None),
            Err(outcome) => (None, Some(outcome.to_string())),
        };
        let (kernel, candidate) = (subject.name.clone(), candidates[at].name.clone());
        rows.push(Row { kernel, candidate, axes: axes.to_vec(), micros, outcome });
    }
}

/// What a search loses by these timings, and how many points it tries.
fn found(subject: &Subject, space: &[generate::Candidate], rows: &[Row]) -> (f64, usize) {
    let workloads: Vec<Vec<i64>> = subject.workloads().collect();
    refine::shortfall(&subject.plan, space, &workloads, |candidate| {
        let at = |axes: &Vec<i64>| {
            let row = rows.iter().find(|row| row.candidate == candidate.name && row.axes == *axes);
            Some(1.0 / row?.micros?)
        };
        workloads.iter().map(at).collect()
    })
}

/// Prints the fastest few of each workload.
fn best(rows: &[Row]) {
    let mut all: Vec<&Vec<i64>> = rows.iter().map(|row| &row.axes).collect();
    all.sort();
    all.dedup();
    for axes in all {
        let mut here: Vec<(f64, &str)> = rows
            .iter()
            .filter(|row| row.axes == *axes)
            .filter_map(|row| Some((row.micros?, row.candidate.as_str())))
            .collect();
        here.sort_by(|a, b| a.0.total_cmp(&b.0));
        let told: Vec<String> = here.iter().take(4).map(|(us, name)| format!("{name} {us:.2} us")).collect();
        println!("      {axes:?} of {}: {}", here.len(), told.join(", "));
    }
}
