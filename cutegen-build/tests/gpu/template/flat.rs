//! Elementwise and scan templates: every candidate of some kernels and a few of all others, judged by screening at many
//! shapes; and how fast each is. `CUTEGEN_ALL_POINTS=1` takes every candidate of all, when preparing too.

use std::rc::Rc;

use cutegen_build::evaluate::{Baseline, Floor, Judge, Outcome, Settings};
use cutegen_build::generate::Candidate;
use cutegen_build::plan::sums::{exact_integers, only_sums};
use cutegen_build::plan::{Plan, roofline};

use super::proposed;
use crate::{Test, bench, fixtures, specs};

pub(crate) const TESTS: &[Test] = &[
    ("template::flat_candidates_are_right", flat_candidates_are_right),
    ("template::flat_speeds", flat_speeds),
];

/// Kernels that `kernel-specs` does not have.
const MORE: &str = include_str!("../../compile/flat.toml");

const FAMILIES: [&str; 2] = ["elementwise", "scan"];

/// Kernels whose candidates are timed, at their largest workload.
const TIMED: [&str; 6] = ["silu_mul", "gelu_bf16", "relu", "swiglu_packed", "rope_half", "cumsum"];

/// Candidates of a kernel that are judged, from all over its space.
const JUDGED: usize = 6;

/// Plans of kernels that `kernel-specs` does not have.
pub(super) fn more() -> Vec<Plan> {
    specs::read(MORE).iter().map(specs::plan).collect()
}

/// Every plan with what is judged of it.
pub(super) fn all() -> Vec<(Plan, Vec<Candidate>)> {
    let plans: Vec<Plan> = [specs::plans(false), more()].concat();
    let flat = plans.into_iter().filter(|plan| FAMILIES.contains(&plan.family.name()));
    flat.map(|plan| (chosen(&plan), plan)).map(|(candidates, plan)| (plan, candidates)).collect()
}

/// Some evenly from all, and the last, which takes any address.
pub(super) fn chosen(plan: &Plan) -> Vec<Candidate> {
    let all = proposed(plan);
    if std::env::var_os("CUTEGEN_ALL_POINTS").is_some() {
        return all;
    }
    let (each, last) = (all.len().div_ceil(JUDGED).max(1), all.len().saturating_sub(1));
    let kept = all.into_iter().enumerate().filter(|(at, _)| at % each == 0 || *at == last);
    kept.map(|(_, candidate)| candidate).collect()
}

/// A session as a search opens it, but with more shapes.
pub(super) fn judge(plan: &Plan, candidates: &[Candidate]) -> Judge {
    let (mut question, device) = specs::question(plan);
    question.exact_integers = exact_integers(plan);
    question.tiles = candidates.iter().flat_map(|c| &c.tiles).map(|(_, extent)| *extent).collect();
    question.tiles.sort_unstable();
    question.tiles.dedup();
    let mut settings = Settings::new(bench::workers(), 0xf1a7);
    (settings.shapes_most, settings.screening, settings.repeats) = (12, (12, 5), (5, 5));
    settings.cost_cap = 1 << 33;
    settings.baseline = Some(Baseline { candidate: specs::candidate(plan), only_sums: only_sums(plan) });
    settings.floor = roofline::floor(plan).map(|floor| Floor(Rc::from(floor)));
    settings.device = Some(device);
    Judge::new(question, settings).expect("a session")
}

fn flat_candidates_are_right() {
    let (mut judged, mut failed) = (0, Vec::new());
    for (plan, candidates) in all() {
        let mut judge = judge(&plan, &candidates);
        let (mut passed, mut worst, mut shapes) = (0, 0.0_f64, 0);
        for (candidate, gate) in candidates.iter().zip(fixtures::compiled(&candidates)) {
            judged += 1;
            match judge.screen(&gate).expect("the machine works") {
                Outcome::Passed { correctness, .. } => {
                    passed += 1;
                    worst = worst.max(correctness.worst_share);
                    shapes = shapes.max(correctness.shapes.len());
                }
                outcome => failed.push(format!("{} {}: {outcome}", plan.spec.name, candidate.name)),
            }
        }
        println!(
            "    {:<18} {passed:>3} of {:>3} right at {shapes} shapes, largest error {worst:.3} of the bound",
            plan.spec.name.as_str(),
            candidates.len()
        );
    }
    failed.iter().for_each(|line| println!("    {line}"));
    assert!(failed.is_empty() && judged >= 200, "{} of {judged} failed", failed.len());
}

fn flat_speeds() {
    for (plan, candidates) in all() {
        if !TIMED.contains(&plan.spec.name.as_str()) {
            continue;
        }
        let largest = plan.spec.workloads.last().expect("a workload");
        let axes = plan.spec.bind(&largest.axes).expect("a shape");
        let bytes = cutegen_build::plan::cost::cost(&plan.spec, &plan.schedule, &axes).bytes;
        let (mut judge, naive) = (judge(&plan, &candidates), specs::candidate(&plan));
        let mut rows: Vec<(f64, &str)> = Vec::new();
        for (candidate, gate) in candidates.iter().zip(fixtures::compiled(&candidates)) {
            let compared = judge.compare(&gate, &naive, &axes).expect("the machine works");
            rows.push((compared.expect("both are timed").candidate_us, &candidate.name));
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!("    {} at {axes:?}, {:.1} MB", plan.spec.name, bytes / 1e6);
        for (us, name) in &rows {
            println!("      {name:<32} {us:>9.2} us, {:.2} TB/s", bytes / us / 1e6);
        }
    }
}
