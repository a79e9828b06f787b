//! Candidates of several parts compile: each entry is there, holds what its launch gives it, and waits first where it starts
//! early. Some of each kernel of the tests in `parts`, in an order that the commit decides; `CUTEGEN_TEMPLATES=all` compiles
//! each, and a part of `KERNEL CANDIDATE` those that have it.

use std::hash::{DefaultHasher, Hash, Hasher};

use cutegen_build::compile::{Artifact, Inspected};
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::inspect::cubin::CubinInfo;
use cutegen_build::plan::Plan;
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;

use crate::setup::each_compiled;
use crate::templates::fits;

pub(crate) const TESTS: &[crate::Test] = &[("parts::candidates_compile", candidates_compile)];

/// Candidates of a kernel: each takes as long as its parts together.
const DRAWN: usize = 2;
/// Bytes of local memory that hold no accumulators.
const SCALARS: u32 = 16;

fn candidates_compile() {
    let which = std::env::var("CUTEGEN_TEMPLATES").unwrap_or_default();
    for target in ["sm_90a", "sm_90"] {
        let wanted: Vec<(Plan, Candidate)> =
            plans(target).iter().flat_map(|plan| chosen(plan, &which)).collect();
        println!("  {target}: {} candidates", wanted.len());
        each_compiled(&wanted, check);
    }
}

fn plans(target: &str) -> Vec<Plan> {
    let target = Target::parse(target).expect("a target");
    let text = include_str!("../parts/specs.toml");
    let kernels = spec_file(text, &Default::default()).into_kernels().expect("right specs");
    kernels.iter().map(|spec| Plan::new(spec, &target)).collect()
}

fn chosen(plan: &Plan, which: &str) -> Vec<(Plan, Candidate)> {
    let mut all = Templates::new("pinned").space(plan);
    println!("  {} on {}: {} candidates", plan.spec.name, plan.target, all.len());
    let name = |c: &Candidate| format!("{} {}", plan.spec.name, c.name);
    match which {
        "" => {
            all.sort_by_key(|candidate| rank(&name(candidate)));
            all.truncate(DRAWN);
        }
        "all" => {}
        only => all.retain(|candidate| name(candidate).contains(only)),
    }
    all.into_iter().map(|candidate| (plan.clone(), candidate)).collect()
}

fn rank(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (std::env::var("CUTEGEN_SAMPLE_SEED").unwrap_or_default(), name).hash(&mut hasher);
    hasher.finish()
}

fn check(plan: &Plan, candidate: &Candidate, artifact: &Artifact) {
    let Inspected::Cubin(CubinInfo { kernels, .. }) = &artifact.inspected else {
        panic!("a cubin was asked for")
    };
    let seconds = artifact.wall_ms as f64 / 1e3;
    println!("    {} {}: {} kernels, {seconds:.1} s", plan.spec.name, candidate.name, kernels.len());
    assert_eq!(kernels.len(), candidate.contract.steps.len(), "{}: an entry a step", candidate.name);
    for step in &candidate.contract.steps {
        let kernel = kernels.iter().find(|kernel| kernel.name == step.entry).expect("every entry is there");
        fits(plan, candidate, step, kernel, SCALARS);
    }
}
