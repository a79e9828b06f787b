//! Who may start while the kernel before it runs waits for it before it touches memory: NVRTC moves loads that are marked
//! `.nc` ahead of the wait, which the inspection of a cubin sees; no committed kernel does so.

use std::path::Path;

use cutegen_build::compile::Inspected;
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::inspect::cubin;
use cutegen_build::inspect::cubin::wait::Wait;
use cutegen_build::plan::Plan;
use cutegen_build::store::{FILE_LIMIT, Store};
use cutegen_spec::contract::Step;
use cutegen_spec::target::Target;

use crate::library;
use crate::setup::{compiled, of_candidate, setup};

pub(crate) const TESTS: &[crate::Test] = &[
    ("waits::loads_of_constant_memory_are_seen_ahead_of_the_wait", loads_of_constant_memory_are_seen),
    ("waits::committed_kernels_wait_first", committed_kernels_wait_first),
];

/// Folders of committed entries.
const STORES: [&str; 3] = ["cache", "tests/bars/cache", "example-app/cutegen-store"];
/// Committed kernels that overlap, lest a change empties the test.
const OVERLAP_LEAST: usize = 100;

fn loads_of_constant_memory_are_seen() {
    let target = Target::parse("sm_90a").expect("a target");
    let host = library::all().into_iter().find(|plan| plan.spec.name.as_str() == "layer_norm");
    let plan = Plan::new(&host.expect("it is in kernel-specs").spec, &target);
    let all = Templates::new("").space(&plan);
    let mut candidate =
        all.into_iter().find(|c| c.name == "rowwise-reg-x8t256u2q1c1-owd").expect("a point of the space");
    assert_eq!(waits(&candidate), [Wait::First]);
    let constant = candidate.source.replace("ld.global.L1", "ld.global.nc.L1");
    assert_ne!(constant, candidate.source);
    candidate.source = constant;
    assert_eq!(waits(&candidate), [Wait::Late]);
}

fn waits(candidate: &Candidate) -> Vec<Wait> {
    let artifact = compiled(&of_candidate(candidate), &setup());
    let Inspected::Cubin(info) = artifact.inspected else { panic!("a cubin was asked for") };
    info.kernels.iter().map(|kernel| kernel.wait).collect()
}

fn committed_kernels_wait_first() {
    let (mut overlap, mut late) = (0, Vec::new());
    for root in STORES {
        let store = Store::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(root));
        for key in store.keys().expect("a store") {
            let entry = store.get(&key).hit().expect("a whole entry");
            for (variant, stored) in entry.record.variants.iter().zip(&entry.artifacts) {
                let steps: Vec<&Step> = variant.contract.steps.iter().filter(|step| step.pdl).collect();
                overlap += steps.len();
                if !steps.is_empty() && !steps.iter().all(|step| waits_first(stored, &step.entry)) {
                    late.push(format!("{root}: {} of {key}", variant.name));
                }
            }
        }
    }
    assert!(overlap >= OVERLAP_LEAST, "{overlap} kernels overlap");
    assert!(late.is_empty(), "{late:?}");
}

fn waits_first(stored: &[u8], entry: &str) -> bool {
    let cubin = zstd::bulk::decompress(stored, FILE_LIMIT as usize).expect("compressed");
    let info = cubin::read(&cubin).expect("a cubin");
    info.kernels.iter().any(|kernel| kernel.name == entry && kernel.wait == Wait::First)
}
