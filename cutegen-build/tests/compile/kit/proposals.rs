//! Whole proposals that use the kit. Each is read, and compiles without local memory at every point of its sweeps. On a card
//! `cargo cutegen propose NAME --source FILE` judges it.

use cutegen_build::compile::Inspected;
use cutegen_build::generate::proposal::Proposal;
use cutegen_build::plan::Plan;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;

use crate::setup::each_compiled;

const SPECS: &str = include_str!("proposals/specs.toml");
const SOURCES: [(&str, &str); 3] = [
    ("attention_prefill", include_str!("proposals/attention_prefill.cu")),
    ("attention_paged", include_str!("proposals/attention_paged.cu")),
    ("conv2d_3x3", include_str!("proposals/conv2d_3x3.cu")),
];

pub(crate) fn proposals_compile() {
    let kernels = spec_file(SPECS, &Settings::default()).into_kernels().expect("right specs");
    let plans = Plan::all(&kernels);
    let points = SOURCES.iter().flat_map(|(name, source)| {
        let plan = plans.iter().find(|plan| plan.spec.name.as_str() == *name).expect("a spec");
        let points = Proposal::points(plan, source, None).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
        points.into_iter().map(|point| (plan.clone(), point.candidate("a compiler", "a test")))
    });
    let points: Vec<_> = points.collect();
    assert_eq!(points.len(), 18);
    each_compiled(&points, |plan, candidate, artifact| {
        let Inspected::Cubin(info) = &artifact.inspected else { panic!("a cubin was asked for") };
        for kernel in &info.kernels {
            println!("  {} {}: {:?} registers", plan.spec.name, candidate.name, kernel.registers);
            assert_eq!(kernel.stack_bytes, Some(0), "{} {}: local memory", plan.spec.name, kernel.name);
        }
        assert_eq!(artifact.log_warnings, [], "{}", plan.spec.name);
    });
}
