//! The running error bound of every spec in `kernel-specs/` as a property: kernels that make only honest choices stay
//! inside it, kernels with planted faults leave it. Needs c++. `CUTEGEN_BOUND=1` prints a table of how loose it is.

pub(crate) mod faults;
pub(crate) mod functions;
mod gemm;
pub(crate) mod library;
mod long;
pub(crate) mod machine;
mod report;
pub(crate) mod specs;
pub(crate) mod style;
pub(crate) mod values;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::sample;
use faults::Fault;
use report::Report;

/// What a bound can't see, or a few sampled elements don't show, and why.
const UNSEEN: [(Fault, &str, &str); 10] = [
    (Fault::Bf16Exp, "cross_entropy", "32000 errors of either sign average out below n / 8 roundings"),
    (Fault::Bf16Exp, "cross_entropy_rows", "the same"),
    (
        Fault::Bf16Exp,
        "attention_causal",
        "a weight errs in the numerator and in the total alike, and the output is bf16",
    ),
    (Fault::DropsLast, "cross_entropy_rows", "one term of 32000, of which n / 8 roundings are as much"),
    (Fault::DropsFirst, "cross_entropy_rows", "the same"),
    (
        Fault::DropsFirst,
        "softmax_bf16",
        "one term of 4096 below half an ulp of bf16, unless its logit is the largest",
    ),
    (Fault::DropsLast, "softmax_bf16", "the same"),
    (
        Fault::DropsLast,
        "add_rms_norm",
        "one square of 4096 is far below half an ulp of bf16: few elements move, and few are sampled",
    ),
    (Fault::SwallowsNan, "cosine_similarity_loss", "the dot product beside it is NaN as well"),
    (Fault::SwallowsNan, "hardswish", "the other factor is NaN as well"),
];

/// The report of every spec, in order of names.
fn reports() -> &'static [Report] {
    static REPORTS: OnceLock<Vec<Report>> = OnceLock::new();
    REPORTS.get_or_init(run)
}

fn run() -> Vec<Report> {
    let only = std::env::var("CUTEGEN_BOUND_ONLY").ok();
    let mut plans = library::all();
    plans.retain(|p| only.as_ref().is_none_or(|only| p.spec.name.to_string().contains(only)));
    let plans = sample::of(plans, |plan| plan.spec.name.to_string());
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let started = std::time::Instant::now();
            let report = report::report(plan, 1);
            if std::env::var("CUTEGEN_BOUND").is_ok() {
                eprintln!(
                    "{}: {:.1} s, {} terms",
                    report.name,
                    started.elapsed().as_secs_f64(),
                    report.judged
                );
            }
            done.lock().expect("no report panicked").push(report);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut reports = done.into_inner().expect("no report panicked");
    reports.sort_by(|a, b| a.name.cmp(&b.name));
    reports
}

#[test]
fn honest_kernels_stay_inside() {
    let violations: Vec<&str> =
        reports().iter().flat_map(|r| r.violations.iter().map(String::as_str)).collect();
    assert!(violations.is_empty(), "{} violations\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn each_output_has_three_tests() {
    let few = |r: &Report| -> Vec<String> {
        let outputs = r.conclusive.iter().filter(|(_, d)| d.len() < 3);
        outputs.map(|(output, d)| format!("{} `{output}`: only {d:?}", r.name)).collect()
    };
    let few: Vec<String> = reports().iter().flat_map(few).collect();
    assert!(few.is_empty(), "{} outputs\n{}", few.len(), few.join("\n"));
}

#[test]
fn planted_faults_leave_the_bound() {
    let missed = |r: &Report| -> Vec<String> {
        let unseen = |fault: &Fault| UNSEEN.iter().any(|(f, spec, _)| f == fault && *spec == r.name);
        let missed = r.faults.iter().filter(|(fault, caught)| caught.is_none() && !unseen(fault));
        missed.map(|(fault, _)| format!("{fault:?}: {}", r.name)).collect()
    };
    let mut missed: Vec<String> = reports().iter().flat_map(missed).collect();
    missed.sort();
    assert!(missed.is_empty(), "{} faults\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn summary() {
    let honest: usize = reports().iter().map(|r| r.honest).sum();
    let judged: u64 = reports().iter().map(|r| r.judged).sum();
    let faults: usize = reports().iter().map(|r| r.faults.len()).sum();
    let worst = reports().iter().map(|r| r.worst_share).fold(0.0, f64::max);
    println!(
        "{} specs: {honest} honest evaluations with {judged} judged elements used at most {:.0} % of the bound; \
         {faults} faults",
        reports().len(),
        100.0 * worst
    );
    if std::env::var("CUTEGEN_BOUND").is_ok() {
        reports().iter().for_each(table);
    }
}

fn table(r: &Report) {
    for (output, median) in &r.looseness {
        println!(
            "{:32} {output:8} bound / value {median:9.2e}, used {:5.1} %",
            r.name,
            100.0 * r.worst_share
        );
    }
    for (fault, caught) in &r.faults {
        println!("{:32} {fault:?}: {}", r.name, caught.map_or("MISSED", |d| d.name()));
    }
}
