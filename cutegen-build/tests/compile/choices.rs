//! What a search tries of a space holds what is within 2 % of the best of all points, by the timings of fourteen kernels that
//! the forecast's constants were chosen with, and of two (`softmax_temperature`, `l2_norm`) that were timed when they stood.

use std::collections::BTreeMap;

use cutegen_build::generate::template::Templates;
use cutegen_build::generate::{Candidate, Feedback, Generator as _};
use cutegen_build::plan::Plan;
use cutegen_build::refine;
use cutegen_spec::target::Target;

use crate::library;

pub(crate) const TESTS: &[crate::Test] =
    &[("choices::what_is_tried_holds_what_is_fast", what_is_tried_holds_what_is_fast)];

/// Points of a space that must still have a timing, lest a new name empties this test.
const TIMED_LEAST: usize = 100;

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
    for host in library::all() {
        let Some(timings) = recorded.remove(host.spec.name.as_str()) else { continue };
        let plan = Plan::new(&host.spec, &target);
        let space = Templates { toolchain: String::new() }.propose(&plan, &Feedback::default());
        let workloads: Vec<Vec<i64>> = timings.keys().cloned().collect();
        let speeds = |candidate: &Candidate| -> Vec<Option<f64>> {
            timings.values().map(|there| Some(1.0 / there.get(&candidate.name)?)).collect()
        };
        let timed = space.iter().filter(|c| speeds(c).iter().all(Option::is_some)).count();
        assert!(timed >= TIMED_LEAST, "{}: {timed} points are timed", plan.spec.name);
        let (share, tried) = refine::shortfall(&plan, &space, &workloads, speeds);
        println!(
            "  {}: {tried} of {} points come within {:.1} %",
            plan.spec.name,
            space.len(),
            100.0 * (share - 1.0)
        );
        if share > 1.02 {
            behind.push(plan.spec.name.to_string());
        }
    }
    assert!(recorded.is_empty() && behind.is_empty(), "behind {behind:?}, not there {:?}", recorded.keys());
}
