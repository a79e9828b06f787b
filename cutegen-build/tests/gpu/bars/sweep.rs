//! Every legal point of the templates' spaces for some kernels, timed at every workload: what a search could find at
//! best, and what its cost model is held against.

use std::time::Instant;

use cutegen_build::evaluate::{Candidate, Judge, Outcome};
use cutegen_build::generate::template::Templates;
use cutegen_build::generate::{self, Feedback, Generator as _};
use cutegen_build::refine::{self, Trial};

use super::budget::Budget;
use super::keep;
use super::search::Subject;
use crate::{fixtures, specs};

/// Of each family of templates some, with rows short and long, one and several streams.
const KERNELS: [&str; 9] = [
    "silu_mul",
    "gelu_bf16",
    "softmax_bf16",
    "softmax",
    "rms_norm",
    "add_rms_norm",
    "layer_norm",
    "rms_norm_fp8",
    "log_softmax",
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
    let mut rows = Vec::new();
    let (mut left, mut shares) = (Vec::new(), Vec::new());
    let plans = specs::plans(false).into_iter().filter(|plan| KERNELS.contains(&plan.spec.name.as_str()));
    for plan in budget.chosen(plans.collect()) {
        let subject = Subject::new(plan);
        let candidates = Templates { toolchain: String::new() }.propose(&subject.plan, &Feedback::default());
        let started = Instant::now();
        let gates = fixtures::compiled(&candidates);
        let compiling = started.elapsed().as_secs_f64();
        let mut judge = subject.judge();
        let before = rows.len();
        for (candidate, gate) in candidates.iter().zip(gates) {
            if !budget.has_time() {
                left.push(format!("{} {}", subject.name, candidate.name));
                continue;
            }
            timed(&subject, &mut judge, candidate, &gate, &mut rows);
        }
        println!(
            "    {}: {} points compiled in {compiling:.1} s, {} timings, {:.1} s in all",
            subject.name,
            candidates.len(),
            rows.len() - before,
            started.elapsed().as_secs_f64()
        );
        best(&rows[before..]);
        let (share, tried) = found(&subject, &candidates, &rows[before..]);
        let (kernel, points) = (&subject.name, candidates.len());
        shares
            .push(serde_json::json!({ "kernel": kernel, "points": points, "tried": tried, "share": share }));
        println!("      a search tries {tried} of them and comes within {:.1} %", 100.0 * (share - 1.0));
        keep("sweep", &serde_json::json!({ "rows": rows, "found": shares, "not_measured": left }));
    }
    assert!(!rows.is_empty(), "no kernel was chosen");
}

/// At every workload that it is eligible for; against itself, as something must be.
fn timed(
    subject: &Subject,
    judge: &mut Judge,
    candidate: &generate::Candidate,
    gate: &Candidate,
    rows: &mut Vec<Row>,
) {
    let spec = &subject.plan.spec;
    for axes in spec.workloads.iter().filter_map(|workload| spec.bind(&workload.axes).ok()) {
        if !candidate.eligibility.holds(&axes, &vec![0; spec.tensors.len()]) {
            continue;
        }
        let compared = judge.compare(gate, gate, &axes).expect("the machine works");
        let (micros, outcome) = match compared {
            Ok(compared) => (Some(compared.candidate_us), None),
            Err(outcome) => (None, Some(outcome.to_string())),
        };
        rows.push(Row {
            kernel: subject.name.clone(),
            candidate: candidate.name.clone(),
            axes,
            micros,
            outcome,
        });
    }
}

/// How much slower the fastest of what a search tries is than the fastest of all, by these timings; and what it tries.
fn found(subject: &Subject, space: &[generate::Candidate], rows: &[Row]) -> (f64, usize) {
    let trials = |candidates: Vec<generate::Candidate>| -> Vec<Trial> {
        let trial = |candidate: generate::Candidate| {
            let of_it = rows.iter().filter(|row| row.candidate == candidate.name);
            let speeds: Option<Vec<f64>> = of_it.map(|row| Some(1.0 / row.micros?)).collect();
            let all = speeds.filter(|speeds| speeds.len() == subject.plan.spec.workloads.len());
            let (outcome, speedups) = (Outcome::Blocked(String::new()), all.unwrap_or_default());
            Trial { candidate, outcome, speedups, again: true }
        };
        candidates.into_iter().map(trial).collect()
    };
    let mut history = trials(refine::select(&subject.plan, space));
    history.extend(trials(refine::around(&subject.plan, space, &history)));
    let fastest =
        |history: &[Trial]| refine::ranked(history).first().map_or(0.0, |t| refine::geomean(&t.speedups));
    (fastest(&trials(space.to_vec())) / fastest(&history), history.len())
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
