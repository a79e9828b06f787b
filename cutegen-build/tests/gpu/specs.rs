//! Every spec of kernel-specs: its naive kernel agrees with the compiled reference of the CPU, at the spec's precision
//! and in f64, on every distribution. `CUTEGEN_GPU_REPORT=FILE` keeps what was judged, as JSON.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use cutegen_build::evaluate::{Candidate, Judge, OnDevice, Outcome, Question, Settings};
use cutegen_build::plan::Plan;
use cutegen_build::plan::cost::judging;
use cutegen_build::plan::sums::ExactIntegers;
use cutegen_build::print;
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use cutegen_spec::tensor::Role;

use crate::{Test, bench, fixtures};

pub(crate) const TESTS: &[Test] = &[
    ("specs::naive_kernels_agree_with_the_reference", naive_kernels_agree_with_the_reference),
    ("specs::naive_f64_kernels_agree_with_the_reference", naive_f64_kernels_agree_with_the_reference),
    ("specs::large_rows_and_long_attention_finish", large_rows_and_long_attention_finish),
];

/// Two shapes that the naive kernel and the reference must finish soon.
const LARGE: &str = r#"
edition = 1
[kernels.large_softmax]
axes = { m = "1..=64", n = 151936 }
inputs = { x = "bf16[m, n]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = softmax(n, x[m, n])"
[kernels.long_attention]
axes = { h = "1..=64", t = "1..=8192", s = "t", d = 64 }
inputs = { q = "bf16[h, t, d]", k = "bf16[h, s, d]", v = "bf16[h, s, d]" }
outputs = { o = "bf16[h, t, d]" }
math = """
p[h, t, s] = sum(d, q[h, t, d] * k[h, s, d]) * 0.125
m[h, t] = max(s <= t, p[h, t, s])
l[h, t] = sum(s <= t, exp(p[h, t, s] - m[h, t]))
o[h, t, d] = sum(s <= t, exp(p[h, t, s] - m[h, t]) * v[h, s, d]) / l[h, t]
"""
"#;

/// The plans of a text of specs.
pub(crate) fn plans_of(text: &str) -> Vec<Plan> {
    read(text).iter().map(plan).collect()
}

/// Kernels as they are declared, or with everything in f64.
pub(crate) fn plans(f64_too: bool) -> Vec<Plan> {
    let mut specs: Vec<KernelSpec> = fixtures::spec_texts().iter().flat_map(|text| read(text)).collect();
    if f64_too {
        specs.iter_mut().for_each(widen);
    }
    specs.iter().map(plan).collect()
}

pub(crate) fn read(text: &str) -> Vec<KernelSpec> {
    spec_file(text, &Default::default()).into_kernels().expect("right specs")
}

pub(crate) fn plan(spec: &KernelSpec) -> Plan {
    Plan::new(spec, &Target::parse("sm_90a").expect("a target"))
}

fn widen(spec: &mut KernelSpec) {
    spec.precision.accumulate = DType::F64;
    for tensor in spec.tensors.iter_mut().filter(|t| t.role == Role::Output && t.dtype.is_float()) {
        tensor.dtype = DType::F64;
    }
}

/// Sources and entries of every kernel, to be compiled beforehand; and references.
pub(crate) fn all() -> Vec<Plan> {
    [
        plans(false),
        plans(true),
        plans_of(LARGE),
        crate::measured::plans(),
        crate::rows::plans(),
        crate::rings::plans(),
        crate::products::plans(),
    ]
    .concat()
}

/// The printed kernel with its entries named.
pub(crate) fn printed(plan: &Plan) -> (String, Vec<String>, cutegen_spec::contract::Contract) {
    let printed = print::naive::print(plan);
    let name = |text: &str| text.replace("@ENTRY@", "candidate");
    let mut contract = printed.contract;
    contract.steps.iter_mut().for_each(|step| step.entry = name(&step.entry));
    let entries = contract.steps.iter().map(|step| step.entry.clone()).collect();
    (name(&printed.source), entries, contract)
}

/// What is asked of a plan's kernels, and the cubins that a device is asked with.
pub(crate) fn question(plan: &Plan) -> (Question, OnDevice) {
    let judged = plan.clone();
    let price = move |axes: &[i64]| judging(&judged, axes);
    let reference = print::reference::print_cuda(plan)
        .map(|printed| (fixtures::own_cubin(&printed.source, &printed.options), printed));
    // the host's is for what only the host can
    let host = match &reference {
        Some(_) => PathBuf::new(),
        None => fixtures::reference_of(&print::reference::print(plan)),
    };
    let question = Question {
        spec: plan.spec.clone(),
        reference: host,
        exact_integers: ExactIntegers::None,
        cost: Box::new(price),
        tiles: vec![256],
        scalar: None,
    };
    (question, OnDevice { kernels: fixtures::gate_kernels(), reference, totals: None })
}

fn judge(plan: &Plan, cap: u64, shapes: usize) -> Judge {
    judge_with(plan, |settings| {
        (settings.cost_cap, settings.shapes_most, settings.repeats) = (cap, shapes, (2, 2));
        settings.screening = (shapes, usize::MAX);
    })
}

/// A session on the device for a plan, with other settings.
pub(crate) fn judge_with(plan: &Plan, adjust: impl FnOnce(&mut Settings)) -> Judge {
    let (question, device) = question(plan);
    let mut settings = Settings::new(bench::workers(), 7);
    settings.device = Some(device);
    adjust(&mut settings);
    Judge::new(question, settings).expect("a session")
}

/// A plan's naive kernel.
pub(crate) fn candidate(plan: &Plan) -> Candidate {
    let (source, entries, contract) = printed(plan);
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    Candidate {
        artifact: fixtures::cubin(&source, &entries),
        contract,
        eligibility: Default::default(),
        prefer: Default::default(),
        tiles: Vec::new(),
        shared_memory: None,
    }
}

/// One line of the report.
#[derive(Clone, Debug, serde::Serialize)]
struct Judged {
    kernel: String,
    passed: bool,
    outcome: String,
    shapes: usize,
    elements: u64,
    not_judged: u64,
    worst_share: f64,
    seconds: f64,
}

fn judged(plan: &Plan) -> Judged {
    let start = Instant::now();
    let outcome = judge(plan, 1 << 24, 4).screen(&candidate(plan)).expect("the machine works");
    let found = match &outcome {
        Outcome::Passed { correctness, .. } => correctness.clone(),
        _ => Default::default(),
    };
    Judged {
        kernel: plan.spec.name.to_string(),
        passed: matches!(outcome, Outcome::Passed { .. }),
        outcome: outcome.to_string(),
        shapes: found.shapes.len(),
        elements: found.elements,
        not_judged: found.not_judged,
        worst_share: found.worst_share,
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// Judges every plan, several at a time: a session waits for its own reference most of the time.
fn judge_all(plans: Vec<Plan>, report: &str) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2));
    let queue = Mutex::new(plans.into_iter());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(plan) = { queue.lock().expect("not poisoned").next() } {
                    let one = judged(&plan);
                    results.lock().expect("not poisoned").push(one);
                }
            });
        }
    });
    let mut results = results.into_inner().expect("not poisoned");
    results.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    keep(report, &serde_json::to_value(&results).expect("JSON"));
    let failed: Vec<&Judged> = results.iter().filter(|r| !r.passed).collect();
    let elements: u64 = results.iter().map(|r| r.elements).sum();
    println!("    {report}: {} kernels, {} failed, {elements} elements", results.len(), failed.len());
    failed.iter().for_each(|r| println!("    {}: {}", r.kernel, r.outcome));
    assert!(failed.is_empty() && results.len() >= 60, "{} of {} failed", failed.len(), results.len());
}

/// Writes a part of the report, if one is asked for.
fn keep(part: &str, value: &serde_json::Value) {
    if let Some(folder) = std::env::var_os("CUTEGEN_GPU_REPORT") {
        let path = Path::new(&folder).join(format!("{part}.json"));
        std::fs::write(path, serde_json::to_string_pretty(value).expect("JSON")).expect("written");
    }
}

fn naive_kernels_agree_with_the_reference() {
    judge_all(plans(false), "naive");
}

fn naive_f64_kernels_agree_with_the_reference() {
    judge_all(plans(true), "naive-f64");
}

fn large_rows_and_long_attention_finish() {
    let mut rows = Vec::new();
    for spec in read(LARGE) {
        let plan = plan(&spec);
        let axes =
            if spec.name.as_str() == "large_softmax" { vec![16, 151_936] } else { vec![8, 2048, 2048, 64] };
        let mut judge = judge(&plan, 1, 1);
        let honest = candidate(&plan);
        let timed = judge.compare(&honest, &honest, &axes).expect("the machine works").expect("it is timed");
        println!("    {}: {axes:?}: {:.1} us a launch", spec.name, timed.candidate_us);
        rows.push(
            serde_json::json!({ "kernel": spec.name.as_str(), "axes": axes, "us": timed.candidate_us }),
        );
        assert!(timed.candidate_us < 1e6, "{}: {} us", spec.name, timed.candidate_us);
    }
    keep("large", &rows.into());
}

/// Where a folder of fixtures keeps the texts of specs.
pub(crate) fn texts_in(folder: &Path) -> PathBuf {
    folder.join("specs")
}
