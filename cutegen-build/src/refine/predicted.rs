//! What runs where nothing was measured: the variant set that a search would make of cost estimates, were they times. Pure.
//!
//! Invariant: what is picked is no measurement. Estimates stand as speed-ups inside this file, and none leaves it.

use super::{Choice, Member, Trial, cost_estimate, variant_set};
use crate::generate::Candidate;
use crate::outcome::Outcome;
use crate::plan::Plan;

/// Slower than any estimate, in microseconds: estimates rank candidates, and say nothing of the naive kernel.
const SLOWEST: f64 = 1e12;

/// Of these candidates the best by cost estimate in each bucket, in dispatch order, each with where it is preferred. None where no
/// candidate has a cost estimate at every workload.
#[must_use]
pub fn predicted(plan: &Plan, space: &[Candidate]) -> Vec<(Candidate, Member)> {
    let bound = plan.spec.workloads.iter().filter_map(|workload| plan.spec.bind(&workload.axes).ok());
    let workloads: Vec<Vec<i64>> = bound.collect();
    let estimated: Vec<Trial> = space.iter().map(|c| as_if_timed(plan, c, &workloads)).collect();
    let members = variant_set(&plan.spec, &workloads, &estimated, Choice::default().worth).into_iter();
    let with_candidate = |member: Member| {
        let candidate = space.iter().find(|candidate| candidate.name == member.name)?;
        Some((candidate.clone(), member))
    };
    members.filter_map(with_candidate).collect()
}

/// A trial with estimates where a search has times.
fn as_if_timed(plan: &Plan, candidate: &Candidate, workloads: &[Vec<i64>]) -> Trial {
    let speedup = |axes: &Vec<i64>| cost_estimate(plan, candidate, axes).map(|micros| SLOWEST / micros);
    Trial {
        candidate: candidate.clone(),
        outcome: Outcome::Passed { correctness: Default::default(), performance: None },
        speedups: workloads.iter().map(speedup).collect(),
        again: true,
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::eligibility::Eligibility;
    use cutegen_spec::target::Target;

    use super::predicted;
    use crate::generate::Candidate;
    use crate::generate::template::Templates;
    use crate::plan::Plan;
    use crate::refine::cost_estimate;

    const SOFTMAX: &str = "edition = 1\n[kernels.softmax]\naxes = { m = '1..=65536', d = 4096 }\n\
        inputs = { x = 'bf16[m, d]' }\noutputs = { y = 'bf16[m, d]' }\nmath = 'y[m, d] = softmax(d, x[m, d])'\n";

    fn space(workloads: &str, target: &str) -> (Plan, Vec<Candidate>) {
        let text = format!("{SOFTMAX}workloads = [{workloads}]\n");
        let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        let plan = Plan::new(&kernels[0], &Target::parse(target).expect("a target"));
        let space = Templates::new("").space(&plan);
        (plan, space)
    }

    #[test]
    fn each_bucket_has_what_the_cost_estimate_puts_first() {
        for target in ["sm_80", "sm_86", "sm_90", "sm_120"] {
            let (plan, space) = space("{ m = 16 }, { m = 16384 }", target);
            let picks = predicted(&plan, &space);
            assert!((1..=4).contains(&picks.len()), "{target}: {} picks", picks.len());
            for axes in [[16, 4096], [16_384, 4096]] {
                let best = space.iter().filter_map(|c| cost_estimate(&plan, c, &axes)).min_by(f64::total_cmp);
                let chosen = picks.iter().find(|(c, member)| {
                    member.prefer.holds(&axes, &[]) && c.eligibility.holds(&axes, &[0, 0])
                });
                let estimate =
                    chosen.and_then(|(c, _)| cost_estimate(&plan, c, &axes)).expect("one is dispatched");
                // less than this is not worth a kernel of its own
                assert!(estimate <= best.expect("some are estimated") * 1.031, "{target} at {axes:?}");
            }
            let is_anywhere = |c: &Candidate| c.eligibility == Eligibility::default();
            assert_eq!(picks.iter().any(|(c, _)| is_anywhere(c)), space.iter().any(is_anywhere), "{target}");
        }
    }

    #[test]
    fn the_order_in_which_candidates_come_decides_nothing() {
        let (plan, mut space) = space("{ m = 16 }, { m = 16384 }", "sm_86");
        let names = |space: &[Candidate]| -> Vec<String> {
            predicted(&plan, space).into_iter().map(|(_, member)| member.name).collect()
        };
        let before = names(&space);
        space.reverse();
        assert_eq!(names(&space), before);
    }

    #[test]
    fn what_has_no_cost_estimate_is_no_pick() {
        let (plan, mut space) = space("{ m = 16 }", "sm_86");
        assert!(predicted(&plan, &[]).is_empty());
        space.iter_mut().for_each(|candidate| candidate.cost_features = None);
        assert!(predicted(&plan, &space).is_empty());
    }
}
