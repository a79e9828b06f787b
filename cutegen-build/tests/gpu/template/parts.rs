//! Kernels in parts: some candidates of each kernel of the tests in `parts`, from all over its space, judged by screening at
//! many shapes. The judge sees one kernel of several launches.

use cutegen_build::evaluate::Outcome;
use cutegen_build::plan::Plan;

use super::flat::{chosen, judge};
use crate::{Test, fixtures, specs};

pub(crate) const TESTS: &[Test] = &[("template::parts_are_right", parts_are_right)];

/// Candidates of all kernels, lest a change empties this test.
const JUDGED_LEAST: usize = 35;

pub(super) fn plans() -> Vec<Plan> {
    specs::read(include_str!("../../parts/specs.toml")).iter().map(specs::plan).collect()
}

fn parts_are_right() {
    let (mut judged, mut failed) = (0, Vec::new());
    for plan in plans() {
        let candidates = chosen(&plan);
        let mut judge = judge(&plan, &candidates);
        for (candidate, gate) in candidates.iter().zip(fixtures::compiled(&candidates)) {
            judged += 1;
            let (name, origin) = (&plan.spec.name, &candidate.origin);
            match judge.screen(&gate).expect("the machine works") {
                Outcome::Passed { correctness, .. } => {
                    println!("    {name}: {:.3} of the bound: {origin}", correctness.worst_share);
                }
                outcome => failed.push(format!("{name} {origin}: {outcome}")),
            }
        }
    }
    failed.iter().for_each(|line| println!("    {line}"));
    assert!(failed.is_empty() && judged >= JUDGED_LEAST, "{} of {judged} failed", failed.len());
}
