//! What a search tries of a space holds what is within 2 % of the best of all points, by recorded timings: of sixteen kernels of
//! `kernel-specs/` and eleven of `tests/bars/`. The cost estimate's constants were chosen with every other of them. Without what lies
//! around the fastest four are behind, and one with a single shape around it. Some timings are from before rows
//! were read again from L1 (of those points nothing is known there), and those of `bars/rms_norm_fp8_131072` from before a ring's
//! weights served statistics: its rings are faster now. The file says which is of when.

use std::collections::BTreeMap;

use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;
use cutegen_build::refine;
use cutegen_spec::target::Target;

use crate::library;

pub(crate) const TESTS: &[crate::Test] =
    &[("choices::what_is_tried_holds_what_is_fast", what_is_tried_holds_what_is_fast)];

/// Microseconds by kernel, extents and candidate.
type Timings = BTreeMap<String, BTreeMap<Vec<i64>, BTreeMap<String, f64>>>;

fn recorded() -> Timings {
    let (mut all, mut at) = (Timings::new(), (String::new(), Vec::new()));
    for line in include_str!("choices/sweep_h200.txt").lines().filter(|line| !line.starts_with('#')) {
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

fn what_is_tried_holds_what_is_fast() {
    let (mut recorded, mut behind) = (recorded(), Vec::new());
    let target = Target::parse("sm_90a").expect("a target");
    let of_bars =
        library::below("tests/bars/specs").into_iter().map(|plan| (format!("bars/{}", plan.spec.name), plan));
    let of_library = library::all().into_iter().map(|plan| (plan.spec.name.to_string(), plan));
    for (name, host) in of_library.chain(of_bars) {
        let Some(timings) = recorded.remove(&name) else { continue };
        let plan = Plan::new(&host.spec, &target);
        let space = Templates::new("").space(&plan);
        let workloads: Vec<Vec<i64>> = timings.keys().cloned().collect();
        let speeds = |candidate: &Candidate| -> Vec<Option<f64>> {
            timings.values().map(|there| Some(1.0 / there.get(&candidate.name)?)).collect()
        };
        // lest new names empty this test
        let timed = space.iter().filter(|c| speeds(c).iter().all(Option::is_some)).count();
        assert!(4 * timed >= 3 * space.len(), "{name}: {timed} of {} points are timed", space.len());
        let (share, tried) = refine::shortfall(&plan, &space, &workloads, speeds);
        println!("  {name}: {tried} of {} points come within {:.1} %", space.len(), 100.0 * (share - 1.0));
        if share > 1.02 {
            behind.push(name);
        }
    }
    assert!(recorded.is_empty() && behind.is_empty(), "behind {behind:?}, not there {:?}", recorded.keys());
}
