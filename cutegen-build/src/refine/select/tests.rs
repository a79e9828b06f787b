//! What is tried of a space, by rules and by recorded timings.

use std::collections::{BTreeMap, BTreeSet};

use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;

use super::{SELECTED, around, differs_by_a_hint, evenly, select};
use crate::evaluate::Outcome;
use crate::generate::template::Templates;
use crate::generate::{Candidate, Feedback, Generator as _};
use crate::plan::Plan;
use crate::refine::{Trial, speedup, team};

const SOFTMAX: &str = "edition = 1\n[kernels.softmax]\naxes = { m = '1..=65536', d = 4096 }\n\
    inputs = { x = 'bf16[m, d]' }\noutputs = { y = 'bf16[m, d]' }\nmath = 'y[m, d] = softmax(d, x[m, d])'\n\
    workloads = [{ m = 16 }, { m = 16384 }]\n";

fn space() -> (Plan, Vec<Candidate>) {
    space_of(SOFTMAX)
}

fn space_of(specs: &str) -> (Plan, Vec<Candidate>) {
    let document = spec_file(specs, &Default::default());
    assert_eq!(document.errors, []);
    let plan = Plan::new(&document.kernels[0], &Target::parse("sm_90a").expect("a target"));
    let space = Templates { toolchain: String::new() }.propose(&plan, &Feedback::default());
    (plan, space)
}

#[test]
fn a_few_are_selected_and_every_kind_is_among_them() {
    let (plan, space) = space();
    let selected = select(&plan, &space);
    assert!(
        space.len() > 20 && selected.len() == SELECTED.0 + SELECTED.1,
        "{} of {}",
        selected.len(),
        space.len()
    );
    let names: BTreeSet<&str> = selected.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names.len(), selected.len());
    let kinds: BTreeSet<&str> = selected.iter().filter_map(|c| Some(c.sketch.as_ref()?.kind)).collect();
    assert!(kinds.len() >= 4, "{kinds:?}");
}

#[test]
fn rows_too_long_for_a_block_are_tried_by_way_of_l2() {
    let (plan, space) = space_of(&SOFTMAX.replace("d = 4096", "d = 131_072"));
    let selected = select(&plan, &space);
    let kinds: BTreeSet<&str> = selected.iter().filter_map(|c| Some(c.sketch.as_ref()?.kind)).collect();
    for kind in ["ring of a block, again from L2", "global memory, again from L2"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

#[test]
fn what_differs_in_one_hint_lies_around() {
    let (plan, space) = space();
    let named = |name: &str| space.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}"));
    let best = named("rowwise-reg-x8t256u2q1c1-osd");
    for (other, expected) in [("od", true), ("sd", true), ("os", true), ("d", false), ("s", false)] {
        let other = named(&format!("rowwise-reg-x8t256u2q1c1-{other}"));
        assert_eq!(differs_by_a_hint(best, other), expected, "{}", other.name);
    }
    assert!(!differs_by_a_hint(best, named("rowwise-reg-x8t512u1q1c1-os")), "another shape");
    let history = [trial(best, 4.0), trial(named("rowwise-reg-x8t256u2q1c1-os"), 3.0)];
    let found = around(&plan, &space, &history);
    let near = found.iter().filter(|c| differs_by_a_hint(best, c)).count();
    assert_eq!(near, 2, "`os` was tried: {:?}", found.iter().map(|c| &c.name).collect::<Vec<_>>());
    assert!(found.iter().any(|c| c.shape().0 != best.shape().0), "and other shapes");
}

/// One that passed, with this speed-up at both workloads.
fn trial(candidate: &Candidate, speedup: f64) -> Trial {
    let outcome = Outcome::Passed { correctness: Default::default(), performance: None };
    let mut trial = Trial::new(candidate.clone(), outcome, 2);
    (trial.speedups, trial.again) = (vec![Some(speedup); 2], true);
    trial
}

#[test]
fn what_has_no_forecast_is_all_tried() {
    let (plan, mut space) = space();
    space.iter_mut().for_each(|candidate| candidate.sketch = None);
    assert_eq!(select(&plan, &space).len(), space.len());
}

#[test]
fn parts_are_even() {
    let picked = |all: &[i32], count| evenly(all, count).copied().collect::<Vec<_>>();
    assert_eq!(picked(&[0, 1, 2, 3, 4, 5, 6, 7], 2), [2, 6]);
    assert_eq!(picked(&[0, 1], 4), [0, 1]);
    assert!(picked(&[], 4).is_empty());
}

/// Microseconds by kernel, extents and candidate.
type Timings = BTreeMap<String, BTreeMap<Vec<i64>, BTreeMap<String, f64>>>;

fn recorded() -> Timings {
    let (mut all, mut at) = (Timings::new(), (String::new(), Vec::new()));
    for line in include_str!("sweep_h200.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.trim().split_once(' ').expect("two words");
        if line.starts_with(' ') {
            let there = all.entry(at.0.clone()).or_default().entry(at.1.clone()).or_default();
            there.insert(name.to_owned(), rest.parse().expect("a number"));
        } else {
            at =
                (name.to_owned(), rest.split(',').map(|extent| extent.parse().expect("an extent")).collect());
        }
    }
    all
}

/// What a search tries of each space holds what is within 2 % of the best of all points, by the timings that the
/// forecast's constants were chosen with.
#[test]
fn what_is_tried_holds_what_is_fast() {
    let recorded = recorded();
    assert_eq!(recorded.len(), 8);
    for (kernel, timings) in &recorded {
        let (plan, space) = of_library(kernel);
        let workloads: Vec<Vec<i64>> = timings.keys().cloned().collect();
        let timed = |candidate: &Candidate| {
            let at = |axes| Some(1.0 / timings[axes].get(&candidate.name)?);
            let speedups: Vec<Option<f64>> = workloads.iter().map(at).collect();
            let outcome = Outcome::Passed { correctness: Default::default(), performance: None };
            Trial { speedups, again: true, ..Trial::new(candidate.clone(), outcome, workloads.len()) }
        };
        let all: Vec<Trial> = space.iter().map(timed).collect();
        assert!(all.iter().filter(|trial| trial.speedup().is_some()).count() >= 100, "{kernel}: renamed?");
        let mut tried: Vec<Trial> = select(&plan, &space).iter().map(timed).collect();
        tried.extend(around(&plan, &space, &tried).iter().map(timed).collect::<Vec<_>>());
        let speed = |history: &[Trial]| speedup(&workloads, history, &team(&plan.spec, &workloads, history));
        let behind = speed(&all) / speed(&tried) - 1.0;
        assert!(behind <= 0.02, "{kernel}: {:.1} % behind, {} tried", 100.0 * behind, tried.len());
    }
}

/// A kernel of `kernel-specs`, and its space.
fn of_library(kernel: &str) -> (Plan, Vec<Candidate>) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-specs");
    let files = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.expect("readable").into_path());
    let specs = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let texts = specs.map(|path| std::fs::read_to_string(path).expect("readable"));
    let text = texts.into_iter().find(|text| text.contains(&format!("[kernels.{kernel}]\n")));
    let text = text.unwrap_or_else(|| panic!("no {kernel}"));
    let mut kernels = spec_file(&text, &Default::default()).kernels;
    kernels.retain(|spec| spec.name.as_str() == kernel);
    let plan = Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"));
    let space = Templates { toolchain: String::new() }.propose(&plan, &Feedback::default());
    (plan, space)
}
