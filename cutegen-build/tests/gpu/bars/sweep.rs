//! Every legal point of the templates' spaces for some kernels, timed at every workload: what a search could find at
//! best, and what its cost model is held against.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use cutegen_build::evaluate::{Candidate, Judge};
use cutegen_build::generate::template::Templates;
use cutegen_build::generate::{self, Feedback, Generator as _};

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
    let mut left = Vec::new();
    let plans = specs::plans(false).into_iter().filter(|plan| KERNELS.contains(&plan.spec.name.as_str()));
    for plan in budget.chosen(plans.collect()) {
        let subject = Subject::new(plan);
        let candidates = Templates { toolchain: String::new() }.propose(&subject.plan, &Feedback::default());
        let started = Instant::now();
        let artifacts = compiled(&candidates);
        let compiling = started.elapsed().as_secs_f64();
        let mut judge = subject.judge();
        let before = rows.len();
        for (candidate, artifact) in candidates.iter().zip(artifacts) {
            if !budget.has_time() {
                left.push(format!("{} {}", subject.name, candidate.name));
                continue;
            }
            timed(&subject, &mut judge, candidate, artifact, &mut rows);
        }
        println!(
            "    {}: {} points compiled in {compiling:.1} s, {} timings, {:.1} s in all",
            subject.name,
            candidates.len(),
            rows.len() - before,
            started.elapsed().as_secs_f64()
        );
        best(&rows[before..]);
        keep("sweep", &serde_json::json!({ "rows": rows, "not_measured": left }));
    }
    assert!(!rows.is_empty(), "no kernel was chosen");
}

/// At every workload that it is eligible for; against itself, as something must be.
fn timed(
    subject: &Subject,
    judge: &mut Judge,
    candidate: &generate::Candidate,
    artifact: PathBuf,
    rows: &mut Vec<Row>,
) {
    let spec = &subject.plan.spec;
    let gate = Candidate {
        artifact,
        contract: candidate.contract.clone(),
        eligibility: candidate.eligibility.clone(),
        prefer: Default::default(),
    };
    for axes in spec.workloads.iter().filter_map(|workload| spec.bind(&workload.axes).ok()) {
        if !candidate.eligibility.holds(&axes, &vec![0; spec.tensors.len()]) {
            continue;
        }
        let compared = judge.compare(&gate, &gate, &axes).expect("the machine works");
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

/// On all cores, in order.
fn compiled(candidates: &[generate::Candidate]) -> Vec<PathBuf> {
    let queue = Mutex::new(candidates.iter().enumerate());
    let paths = Mutex::new(vec![PathBuf::new(); candidates.len()]);
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some((at, candidate)) = { queue.lock().expect("not poisoned").next() } {
                    let entries: Vec<&str> =
                        candidate.contract.steps.iter().map(|step| step.entry.as_str()).collect();
                    let path = fixtures::cubin(&candidate.source, &entries);
                    paths.lock().expect("not poisoned")[at] = path;
                }
            });
        }
    });
    paths.into_inner().expect("not poisoned")
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
