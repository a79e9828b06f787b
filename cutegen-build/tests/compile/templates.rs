//! What the rowwise templates propose for the kernels of `kernel-specs` on sm_90a compiles, keeps its fragments in
//! registers and fits a multiprocessor. One candidate a kernel, another kind for each, so that all kinds have their
//! turn, and every kind for rows of any length; `CUTEGEN_TEMPLATES=all` compiles every candidate, and a part
//! of `KERNEL CANDIDATE` those that have it.

use std::collections::BTreeMap;
use std::path::Path;

use cutegen_build::compile::{Artifact, Inspected};
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::inspect::cubin::wait::Wait;
use cutegen_build::inspect::cubin::{CubinInfo, KernelInfo};
use cutegen_build::plan::Plan;
use cutegen_build::plan::family::Family;
use cutegen_spec::axis::largest;
use cutegen_spec::contract::{Arg, Step};
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;

use crate::setup::each_compiled;

pub(crate) const TESTS: &[crate::Test] = &[("templates::rows_compile", rows_compile)];

/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;

/// Bytes of local memory that are no fragment, which is four floats at least: a scalar or two may find no register.
const SCALARS: u32 = 8;

/// Kernels whose rows the templates must fill, lest a change empties this test.
const FILLED_LEAST: usize = 30;

/// Kernels of the tests in `rows`, whose rows are of any length and whose sums merge.
const ANY_LENGTH: [&str; 2] = ["any_softmax", "any_layer_norm"];

fn rows_compile() {
    let which = std::env::var("CUTEGEN_TEMPLATES").unwrap_or_default();
    let plans: Vec<Plan> = plans().into_iter().filter(|plan| !candidates(plan).is_empty()).collect();
    assert!(plans.len() >= FILLED_LEAST, "{} kernels", plans.len());
    let mut wanted: Vec<(Plan, Candidate)> = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let name = plan.spec.name.as_str();
        let all = candidates(plan);
        let chosen: Vec<&Candidate> = match which.as_str() {
            "" if ANY_LENGTH.contains(&name) => kinds(&all).into_values().collect(),
            "" => nth_kind(&all, number).into_iter().collect(),
            "all" => all.iter().collect(),
            only => all.iter().filter(|c| format!("{name} {}", c.name).contains(only)).collect(),
        };
        println!("  {name}: {} candidates", all.len());
        wanted.extend(chosen.into_iter().map(|candidate| (plan.clone(), candidate.clone())));
    }
    assert!(!wanted.is_empty(), "no candidate is called {which}");
    each_compiled(&wanted, check);
}

/// The plans of `kernel-specs` on sm_90a that are rows.
fn plans() -> Vec<Plan> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-specs");
    let files = |folder: &Path| {
        let mut found: Vec<_> =
            std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("readable").path()).collect();
        found.sort();
        found
    };
    let texts = files(&root).into_iter().filter(|path| path.is_dir()).flat_map(|folder| files(&folder));
    let target = Target::parse("sm_90a").expect("a target");
    texts
        .map(|file| std::fs::read_to_string(file).expect("readable"))
        .chain([include_str!("../rows/specs.toml").to_owned()])
        .flat_map(|text| spec_file(&text, &Default::default()).into_kernels().expect("right specs"))
        .map(|spec| Plan::new(&spec, &target))
        .filter(|plan| matches!(plan.family, Family::Rowwise { .. }))
        .collect()
}

fn candidates(plan: &Plan) -> Vec<Candidate> {
    Templates::new("pinned").space(plan)
}

/// The first candidate of each kind: template and whether it has vectors, a cluster.
fn kinds(all: &[Candidate]) -> BTreeMap<String, &Candidate> {
    let mut kinds = BTreeMap::new();
    for candidate in all {
        let home = candidate.name.split('-').nth(1).unwrap_or_default();
        let cluster = candidate.contract.steps[0].cluster[0].to_string();
        let scalar = candidate.name.contains("-x1t");
        kinds.entry(format!("{home} {scalar} {}", cluster != "1")).or_insert(candidate);
    }
    kinds
}

fn nth_kind(all: &[Candidate], n: usize) -> Option<&Candidate> {
    let kinds = kinds(all);
    let count = kinds.len().max(1);
    kinds.into_values().nth(n % count)
}

fn check(plan: &Plan, candidate: &Candidate, artifact: &Artifact) {
    let Inspected::Cubin(CubinInfo { kernels, .. }) = &artifact.inspected else {
        panic!("a cubin was asked for")
    };
    let registers: Vec<u32> = kernels.iter().filter_map(|kernel| kernel.registers).collect();
    println!(
        "    {:<60} registers {registers:?}, {} bytes, {:.1} s",
        format!("{} {}", plan.spec.name, candidate.name),
        artifact.bytes.len(),
        artifact.wall_ms as f64 / 1e3
    );
    for step in &candidate.contract.steps {
        let kernel = kernels.iter().find(|kernel| kernel.name == step.entry).expect("every entry is there");
        fits(plan, candidate, step, kernel, SCALARS);
    }
}

/// Registers of a thread that a kernel must begin with whose warpgroups hand some over: all that its blocks have room for.
fn launched(source: &str, threads: u32) -> Option<u32> {
    let beside =
        source.lines().find_map(|line| line.strip_prefix("constexpr int BESIDE = ")?.strip_suffix(';'));
    let beside: u32 = beside.filter(|_| source.contains("setmaxnreg"))?.parse().expect("a number");
    Some(REGISTERS / beside / threads / 8 * 8)
}

/// Holds a kernel against its launch; `scalars`: bytes of local memory that it may have.
pub(crate) fn fits(plan: &Plan, candidate: &Candidate, step: &Step, kernel: &KernelInfo, scalars: u32) {
    // of parts, the origin says of which points they are
    let (kernel_name, origin) = (&plan.spec.name, &candidate.origin);
    let name = format!("{kernel_name} {} for {}, {} of {origin}", candidate.name, plan.target, step.entry);
    let stack = kernel.stack_bytes.expect("a cubin says it");
    assert!(stack <= scalars, "{name}: {stack} bytes of local memory, {scalars} at most");
    let threads = step.block[0].eval_axes(&[]).expect("a constant") as u32;
    let registers = kernel.registers.expect("a cubin says it").next_multiple_of(8);
    assert!(threads * registers <= REGISTERS, "{name}: {threads} threads of {registers} registers");
    if let Some(launched) = launched(&candidate.source, threads) {
        assert_eq!(registers, launched, "{name}: those that compute wait for registers that nobody has");
    }
    let pointers =
        step.args.iter().filter(|arg| matches!(arg, Arg::Ptr(_) | Arg::Axis(_) | Arg::Workspace(_)));
    assert_eq!(kernel.params.len(), step.args.len(), "{name}");
    assert!(kernel.params.iter().filter(|param| param.size == 8).count() >= pointers.count(), "{name}");
    let has_constants = plan.spec.tensors.iter().any(|tensor| tensor.constant);
    let is_ahead = matches!(kernel.wait, Wait::Ahead(_)) && has_constants;
    assert!(!step.pdl || kernel.wait == Wait::First || is_ahead, "{name}: {:?}", kernel.wait);
    let axes = largest(&plan.spec.axes).expect("extents");
    if candidate.eligibility.holds(&axes, &vec![0; plan.spec.tensors.len()]) {
        let dynamic = step.smem.eval_axes(&axes).expect("a size");
        let most = dynamic + kernel.static_smem_bytes as i64;
        assert!(most <= i64::from(plan.target.shared_memory_max()), "{name}: {most} bytes of shared memory");
    }
}
