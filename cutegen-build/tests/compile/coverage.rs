//! Every memory-bound spec of `kernel-specs` has templates on sm_90a, some of them for any address and any shape.

use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;
use cutegen_spec::target::Target;

use crate::library;

pub(crate) const TESTS: &[crate::Test] =
    &[("coverage::every_memory_bound_spec_has_candidates", every_memory_bound_spec_has_candidates)];

const FAMILIES: [&str; 3] = ["elementwise", "rowwise", "scan"];

fn every_memory_bound_spec_has_candidates() {
    let target = Target::parse("sm_90a").expect("a target");
    let plans = library::all().into_iter().map(|plan| Plan::new(&plan.spec, &target));
    let mut bare = Vec::new();
    for plan in plans {
        let (name, family) = (plan.spec.name.as_str(), plan.family.name());
        if !FAMILIES.contains(&family) {
            println!("  {name}: {family}");
            continue;
        }
        let all: Vec<Candidate> = Templates::new("").space(&plan);
        let anywhere = all.iter().filter(|candidate| candidate.eligibility.0.is_empty()).count();
        println!("  {name}: {family}, {} candidates, {anywhere} for every launch", all.len());
        if all.len() < 8 || anywhere == 0 {
            bare.push(name.to_owned());
        }
    }
    assert!(bare.is_empty(), "without candidates: {bare:?}");
}
