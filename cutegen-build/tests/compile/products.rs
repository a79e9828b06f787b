//! Points of the product templates compile on sm_90a without spills, fit a multiprocessor, and wait first where they start
//! early: as many as a change can afford, drawn by the commit, from the kernels of the tests in `products`.
//! `CUTEGEN_TEMPLATES=all` compiles every point, and a part of `KERNEL CANDIDATE` those that have it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use cutegen_build::compile::{Artifact, Inspected};
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::inspect::cubin::CubinInfo;
use cutegen_build::plan::Plan;
use cutegen_spec::contract::Arg;
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;
use object::{Object as _, ObjectSection as _};

use crate::setup::each_compiled;
use crate::templates::fits;

pub(crate) const TESTS: &[crate::Test] = &[
    ("products::points_compile", points_compile),
    ("products::a_hint_beside_a_uniform_address_is_seen", a_hint_beside_a_uniform_address_is_seen),
];

/// Points of a run: each takes two to five seconds of a core.
const DRAWN: usize = 21;
/// Bytes of local memory that hold no accumulators: a few scalars of the epilogue's math find no register.
const SCALARS: u32 = 16;
/// Opcode, the low twelve bits, of `LDGSTS` whose address in shared memory has a uniform part, and whose descriptor is in
/// uniform registers behind it: ptxas 13.0 gives these registers four bits.
const COPY_TO_UNIFORM: u64 = 0xdae;
/// A kernel and a point of it that ptxas would encode so.
const HINTED: (&str, &str) = ("fixed", "product-x16x64x128s4w2x1x2");

fn points_compile() {
    let which = std::env::var("CUTEGEN_TEMPLATES").unwrap_or_default();
    let all: Vec<(Plan, Candidate)> = plans().into_iter().flat_map(candidates).collect();
    assert!(all.len() > 1000, "{} points", all.len());
    let wanted: Vec<(Plan, Candidate)> = match which.as_str() {
        "" => drawn(&all),
        "all" => all,
        only => all
            .into_iter()
            .filter(|(plan, c)| format!("{} {}", plan.spec.name, c.name).contains(only))
            .collect(),
    };
    assert!(!wanted.is_empty(), "no point is called {which}");
    each_compiled(&wanted, check);
}

fn plans() -> Vec<Plan> {
    let text = include_str!("../products/specs.toml").to_owned() + include_str!("products.toml");
    let target = Target::parse("sm_90a").expect("a target");
    let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
    kernels.iter().map(|spec| Plan::new(spec, &target)).collect()
}

/// The points of a plan, each source once.
fn candidates(plan: Plan) -> Vec<(Plan, Candidate)> {
    let mut seen = BTreeSet::new();
    let all = Templates::new("pinned").space(&plan);
    all.into_iter().filter(|c| seen.insert(c.source.clone())).map(|c| (plan.clone(), c)).collect()
}

/// Some of each template, in an order that the commit decides.
fn drawn(all: &[(Plan, Candidate)]) -> Vec<(Plan, Candidate)> {
    let seed = std::env::var("CUTEGEN_SAMPLE_SEED").unwrap_or_default();
    let rank = |(plan, candidate): &(Plan, Candidate)| {
        let mut hasher = DefaultHasher::new();
        (&seed, &plan.spec.name, &candidate.name).hash(&mut hasher);
        hasher.finish()
    };
    let of = |template: &str| {
        let mut points: Vec<_> = all.iter().filter(|(_, c)| c.origin.contains(template)).cloned().collect();
        points.sort_by_key(&rank);
        points.truncate(DRAWN / 3);
        points
    };
    ["product_mma_sync", "product_wgmma", "product_vector"].map(of).concat()
}

fn check(plan: &Plan, candidate: &Candidate, artifact: &Artifact) {
    let Inspected::Cubin(CubinInfo { kernels, .. }) = &artifact.inspected else {
        panic!("a cubin was asked for")
    };
    let name = format!("{} {}", plan.spec.name, candidate.name);
    let registers: Vec<u32> = kernels.iter().filter_map(|kernel| kernel.registers).collect();
    let seconds = artifact.wall_ms as f64 / 1e3;
    println!("    {name:<60} {} bytes, {registers:?} registers, {seconds:.1} s", artifact.bytes.len());
    assert_eq!(copies_to_uniform(&artifact.bytes), 0, "{name}: copies with a hint to uniform addresses");
    for step in &candidate.contract.steps {
        let kernel = kernels.iter().find(|kernel| kernel.name == step.entry).expect("every entry is there");
        fits(plan, candidate, step, kernel, SCALARS);
        let maps = step.args.iter().filter(|arg| matches!(arg, Arg::Map(_))).count();
        assert_eq!(kernel.params.iter().filter(|param| param.size == 128).count(), maps, "{name}");
    }
}

/// Instructions of a cubin that ptxas may have encoded wrongly.
fn copies_to_uniform(cubin: &[u8]) -> usize {
    let file = object::File::parse(cubin).expect("a cubin");
    let texts = file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".text.")));
    let instructions = texts.flat_map(|text| {
        let (instructions, _) = text.data().expect("data").as_chunks::<16>();
        instructions.iter().map(|bytes| bytes.first_chunk().copied().map_or(0, u64::from_le_bytes))
    });
    instructions.filter(|low| low & 0xfff == COPY_TO_UNIFORM).count()
}

/// A kernel with the hint that the template leaves out.
fn a_hint_beside_a_uniform_address_is_seen() {
    let wanted = |plan: &Plan| plan.spec.name.to_string() == HINTED.0;
    let plan = plans().into_iter().find(wanted).expect("a kernel");
    let points = candidates(plan);
    let (plan, right) = points.into_iter().find(|(_, c)| c.name == HINTED.1).expect("a point");
    let mut wrong = right.clone();
    wrong.source = right.source.replace("copy_async<ACCESS, false>", "copy_async<ACCESS, true>");
    wrong.source = wrong.source.replace("from.base, in, 0);", "from.base, in, evict_first());");
    assert_ne!(wrong.source, right.source);
    each_compiled(&[(plan, wrong)], |_, _, artifact| assert_ne!(copies_to_uniform(&artifact.bytes), 0));
}
