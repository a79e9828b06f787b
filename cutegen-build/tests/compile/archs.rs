//! Every architecture of the table: what it has compiles with NVRTC and what it lacks does not, naive kernels and the
//! gate's own compile for it, and so do points of the templates, without spills. A few points a change, drawn by the commit;
//! `CUTEGEN_ARCHS=sm_80` draws for that one alone, and more; with `CUTEGEN_TEMPLATES=PART` all whose `KERNEL CANDIDATE` has that part.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use cutegen_build::compile::{CompileFor, CompileJob, Inspected, compile_unguarded, own_cubin};
use cutegen_build::evaluate;
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::inspect::cubin::CubinInfo;
use cutegen_build::plan::Plan;
use cutegen_build::print::naive;
use cutegen_spec::arch::{Arch, Feature};
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;

use crate::setup::{compiled, each_compiled, setup};
use crate::templates::fits;

pub(crate) const TESTS: &[crate::Test] = &[
    ("archs::features_are_those_of_the_table", features_are_those_of_the_table),
    ("archs::naive_kernels_compile", naive_kernels_compile),
    ("archs::points_compile", points_compile),
];

/// Bytes of local memory that hold no fragments: a few scalars find no register.
const SCALARS: u32 = 16;
/// Points of an architecture in a run, and where it alone is asked for.
const DRAWN: usize = 2;
const DRAWN_ALONE: usize = 40;
/// How the names of functions begin that the driver links in.
const SYSCALL: &[u8] = b"__cuda_syscall";

/// A statement that only architectures with the feature have, over `s`, an address in shared memory, and `g`, a pointer.
fn statement(feature: Feature) -> &'static str {
    match feature {
        Feature::Fp8 => {
            r#"asm volatile("{.reg .b16 h; cvt.rn.satfinite.e4m3x2.f32 h, 0f00000000, 0f00000000;}");"#
        }
        Feature::Bulk => {
            r#"asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];"
                   :: "r"(s), "l"(g), "r"(s + 64) : "memory");"#
        }
        Feature::Tma => {
            r#"asm volatile("cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
                   :: "r"(s), "l"(g), "r"(s + 64), "r"(0) : "memory");"#
        }
        Feature::Cluster => {
            r#"asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");"#
        }
        Feature::Pdl => r#"asm volatile("griddepcontrol.wait;" ::: "memory");"#,
        Feature::Stmatrix => {
            r#"asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(s), "r"(s) : "memory");"#
        }
        Feature::Setmaxnreg => r#"asm volatile("setmaxnreg.inc.sync.aligned.u32 40;" ::: "memory");"#,
        Feature::Wgmma => r#"asm volatile("wgmma.fence.sync.aligned;" ::: "memory");"#,
    }
}

fn probe(arch: Arch, statements: &str) -> CompileJob {
    let source = format!(
        "extern \"C\" __global__ void __launch_bounds__(128) k(unsigned* g) {{\n  \
         __shared__ __align__(128) unsigned shared[64];\n  \
         const unsigned s = unsigned(__cvta_generic_to_shared(shared));\n  g[0] = s;\n  {statements}\n}}\n"
    );
    let compile_for = CompileFor::Cuda { arch: arch.name().to_owned() };
    CompileJob { source, entries: vec!["k".to_owned()], compile_for }
}

/// What an architecture has compiles together, and each thing that it lacks fails alone.
fn features_are_those_of_the_table() {
    for arch in Arch::all() {
        let (has, lacks): (Vec<Feature>, Vec<Feature>) =
            Feature::ALL.into_iter().partition(|feature| arch.has(*feature));
        let all: String = has.into_iter().map(statement).collect();
        let made = compile_unguarded(&probe(arch, &all), &setup()).expect("the machine can compile");
        let made = made.unwrap_or_else(|failure| panic!("{}: {failure:?}", arch.name()));
        // a bulk copy to `shared::cluster` compiles for sm_120 too, but to a call of the driver
        let calls = made.bytes.windows(SYSCALL.len()).any(|bytes| bytes == SYSCALL);
        assert!(!calls, "{}: the driver stands in for an instruction", arch.name());
        for feature in lacks {
            let made = compile_unguarded(&probe(arch, statement(feature)), &setup()).expect("the same");
            assert!(made.is_err(), "{} has {}", arch.name(), feature.name());
        }
    }
}

/// Rows that a block reduces, and that a cluster does where there are any; a product; a scan; 8-bit floats.
const NAIVE: &str = "edition = 1
[kernels.softmax]
axes = { m = '1..=64', d = 4096 }
inputs = { x = 'bf16[m, d]' }
outputs = { y = 'bf16[m, d]' }
math = 'y[m, d] = softmax(d, x[m, d])'
[kernels.long]
axes = { m = '1..=64', d = 131072 }
inputs = { x = 'f32[m, d]' }
outputs = { i = 'i64[m]' }
math = 'i[m] = argmax(d, x[m, d])'
[kernels.product]
axes = { m = '1..=64', n = 256, k = 128 }
inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }
outputs = { y = 'f32[m, n]' }
math = 'y[m, n] = gelu(sum(k, x[m, k] * w[n, k]))'
[kernels.scan]
axes = { m = '1..=64', d = 300, t = 'd' }
inputs = { x = 'f8e4m3[m, d]' }
outputs = { y = 'f8e5m2[m, d]' }
math = 'y[m, d] = sum(t <= d, x[m, t])'
";

/// What a build cannot do without: naive kernels, whose format the oldest driver is told by, and the gate's kernels.
fn naive_kernels_compile() {
    let kernels = spec_file(NAIVE, &Default::default()).into_kernels().expect("right specs");
    for arch in Arch::all() {
        let target = Target::Cuda { arch, device: None };
        for spec in &kernels {
            let plan = Plan::new(spec, &target);
            let printed = naive::print(&plan);
            let source = printed.source.replace("@ENTRY@", "k");
            let entries = printed.contract.steps.iter().map(|step| step.entry.replace("@ENTRY@", "k"));
            let compile_for = CompileFor::Cuda { arch: arch.name().to_owned() };
            let job = CompileJob { source, entries: entries.collect(), compile_for };
            let Inspected::Cubin(info) = compiled(&job, &setup()).inspected else { panic!("no cubin") };
            assert_eq!(info.abi_version, 8, "{}: the README names the oldest driver", arch.name());
            let is_clustered = printed.contract.steps.iter().any(|step| step.cluster[0].to_string() != "1");
            assert_eq!(is_clustered, spec.name.as_str() == "long" && arch.has(Feature::Cluster));
        }
        own_cubin(&setup(), arch.name(), evaluate::KERNELS, &evaluate::OPTIONS).expect("the gate's kernels");
    }
}

fn points_compile() {
    let only = std::env::var("CUTEGEN_ARCHS").ok();
    let others = Arch::all().filter(|arch| *arch != Arch::Sm90a);
    for arch in others.filter(|arch| only.as_ref().is_none_or(|only| only == arch.name())) {
        let all = candidates(arch);
        println!("  {}: {} points", arch.name(), all.len());
        within(arch, &all);
        each_compiled(
            &drawn(arch, &all, if only.is_some() { DRAWN_ALONE } else { DRAWN }),
            |plan, candidate, artifact| {
                let Inspected::Cubin(CubinInfo { kernels, .. }) = &artifact.inspected else {
                    panic!("no cubin")
                };
                println!("    {} {}", plan.spec.name, candidate.name);
                // the deepest points of maps and scans have more than registers hold on any architecture
                let is_tiled = candidate.name.starts_with("product") || candidate.name.starts_with("rowwise");
                let most = if is_tiled { SCALARS } else { u32::MAX };
                for step in &candidate.contract.steps {
                    let kernel =
                        kernels.iter().find(|kernel| kernel.name == step.entry).expect("every entry");
                    fits(plan, candidate, step, kernel, most);
                }
            },
        );
    }
}

/// Every point of the templates for what the tests of rows and products have.
fn candidates(arch: Arch) -> Vec<(Plan, Candidate)> {
    let text = include_str!("../products/specs.toml").to_owned() + include_str!("archs.toml");
    let target = Target::Cuda { arch, device: None };
    let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
    let plans = kernels.iter().map(|spec| Plan::new(spec, &target));
    let of = |plan: Plan| {
        let mut seen = BTreeSet::new();
        let all = Templates::new("pinned").space(&plan);
        all.into_iter().filter(move |c| seen.insert(c.source.clone())).map(move |c| (plan.clone(), c))
    };
    plans.flat_map(of).collect()
}

/// No launch asks for what the architecture lacks, and every template that needs none of it has points.
fn within(arch: Arch, all: &[(Plan, Candidate)]) {
    for (plan, candidate) in all {
        let name = format!("{} {} {}", arch.name(), plan.spec.name, candidate.name);
        for step in &candidate.contract.steps {
            assert!(arch.has(Feature::Pdl) || !step.pdl, "{name} is launched programmatically");
            let is_clustered = step.cluster.iter().any(|blocks| blocks.to_string() != "1");
            assert!(arch.has(Feature::Cluster) || !is_clustered, "{name} has clusters");
        }
    }
    for template in ["elementwise", "rowwise-reg", "rowwise-split", "scan", "product_mma_sync"] {
        assert!(all.iter().any(|(_, c)| c.origin.contains(template)), "{}: no {template}", arch.name());
    }
    let has = |part: &str| all.iter().any(|(_, candidate)| candidate.origin.contains(part));
    assert_eq!(has("wgmma"), arch.has(Feature::Wgmma), "{}", arch.name());
    assert_eq!(has("rowwise-ring"), arch.has(Feature::Setmaxnreg), "{}", arch.name());
    assert_eq!(has("rowwise-smem"), arch.has(Feature::Bulk), "{}", arch.name());
}

/// So many points of each template, in an order that the commit decides; or those that are asked for.
fn drawn(arch: Arch, all: &[(Plan, Candidate)], count: usize) -> Vec<(Plan, Candidate)> {
    if let (Ok(_), Ok(part)) = (std::env::var("CUTEGEN_ARCHS"), std::env::var("CUTEGEN_TEMPLATES")) {
        let named = |plan: &Plan, c: &Candidate| format!("{} {}", plan.spec.name, c.name).contains(&part);
        return all.iter().filter(|(plan, c)| named(plan, c)).cloned().collect();
    }
    let seed = std::env::var("CUTEGEN_SAMPLE_SEED").unwrap_or_default();
    let rank = |(plan, candidate): &(Plan, Candidate)| {
        let mut hasher = DefaultHasher::new();
        (&seed, arch.name(), &plan.spec.name, &candidate.name).hash(&mut hasher);
        hasher.finish()
    };
    let of = |is_product: bool| {
        let mut points: Vec<_> =
            all.iter().filter(|(_, c)| c.origin.contains("product") == is_product).cloned().collect();
        points.sort_by_key(&rank);
        points.truncate(count);
        points
    };
    [of(true), of(false)].concat()
}
