//! The kit's headers under the pinned compilers. Each alone and all together compile, and examples keep their fragments in
//! registers. Diagnostics find their line of the body. What headers compute is in `numbers`.

mod numbers;
mod proposals;

use cutegen_build::compile::guard::{Language, check};
use cutegen_build::compile::{
    Batch, CompileFor, CompileJob, CompileOutcome, Inspected, compile_in, includes,
};
use cutegen_build::generate::prompt;
use cutegen_build::generate::proposal::{self, Proposal};
use cutegen_build::kit::{self, Origin, flatten};
use cutegen_build::plan::Plan;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::target::Target;

use crate::setup::{compiled, failed, host, setup};

pub(crate) const TESTS: &[crate::Test] = &[
    ("kit::headers_pass_the_guard", headers_pass_the_guard),
    ("kit::headers_compile_alone_and_together", headers_compile_alone_and_together),
    ("kit::examples_keep_their_fragments_in_registers", examples_keep_their_fragments_in_registers),
    ("kit::host_header_compiles", host_header_compiles),
    ("kit::block_is_that_of_templates", block_is_that_of_templates),
    ("kit::diagnostics_find_their_line", diagnostics_find_their_line),
    ("kit::examples_of_prompts_compile", examples_of_prompts_compile),
    ("kit::examples_of_prompts_are_right", examples_of_prompts_are_right),
    ("kit::reductions_are_right", numbers::reductions_are_right),
    ("kit::copies_and_prefixes_are_right", numbers::copies_and_prefixes_are_right),
    ("kit::products_are_right", numbers::products_are_right),
    ("kit::attention_is_right", numbers::attention_is_right),
    ("kit::warpgroups_are_right", numbers::warpgroups_are_right),
    ("kit::host_numbers_are_right", numbers::host_numbers_are_right),
    ("kit::proposals_compile", proposals::proposals_compile),
    ("kit::planted_faults_are_found", numbers::planted_faults_are_found),
];

fn target() -> Target {
    Target::parse("sm_90a").expect("a target")
}

fn including<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("#include <{name}>\n")).collect()
}

fn flat(body: &str) -> String {
    flatten(body, &target()).expect("known headers").source
}

fn names() -> Vec<&'static str> {
    kit::headers(&target()).iter().map(|header| header.name).collect()
}

fn headers_pass_the_guard() {
    let all = flat(&including(names()));
    assert_eq!(check(&all, Language::Cuda), []);
    assert!(!check(&including(names()), Language::Cuda).is_empty(), "what is not flattened is refused");
    let host = kit::headers(&Target::host()).iter().map(|header| header.name);
    let host = flatten(&including(host), &Target::host()).expect("known headers").source;
    assert_eq!(check(&host, Language::Host), []);
}

fn job(source: String, arch: &str) -> CompileJob {
    CompileJob { source, entries: vec!["k".into()], compile_for: CompileFor::Cuda { arch: arch.into() } }
}

/// In forks of a zygote that has read the block of another source.
fn headers_compile_alone_and_together() {
    let kernel = "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 1.0f; }\n";
    let all: Vec<Vec<&str>> = names().into_iter().map(|name| vec![name]).chain([names()]).collect();
    for arch in ["sm_90a", "sm_80"] {
        let batch = Batch::start(&setup(), arch, &flat(kernel)).expect("a zygote");
        for chosen in &all {
            let source = flat(&(including(chosen.clone()) + kernel));
            let outcome = compile_in(&batch, &job(source, arch)).expect("the machine can compile");
            let CompileOutcome::Compiled(artifact) = outcome else {
                panic!("{arch}, {chosen:?}: {outcome:#?}")
            };
            assert!(artifact.precompiled, "{arch}, {chosen:?}: headers were read again");
            assert_eq!(artifact.log_warnings, [], "{arch}, {chosen:?}");
        }
    }
}

/// What takes a GPU's parts together: no local memory, and nothing to warn of. The ring alone needs sm_90.
fn examples_keep_their_fragments_in_registers() {
    const EXAMPLE: &str = include_str!("kit/example.cu");
    const ROWS: &[&str] = &["row_f32", "row_f16", "row_bf16", "row_i8", "tile_sums"];
    const PRODUCT: &str = include_str!("kit/example_product.cu");
    const PRODUCTS: &[&str] = &["product_bf16", "product_f16", "product_tf32"];
    const ATTENTION: &str = include_str!("kit/example_attention.cu");
    const ATTENTIONS: &[&str] = &["attention", "exact"];
    let warpgroups = format!("#define ATTENTION WgmmaAttention\n#define WARPS 8\n{ATTENTION}");
    let cases = [
        (EXAMPLE, ROWS, "sm_90a", 64),
        (EXAMPLE, ROWS, "sm_80", 64),
        (include_str!("kit/example_ring.cu"), &["chunk_sums"], "sm_90a", 64),
        (PRODUCT, PRODUCTS, "sm_80", 255),
        (PRODUCT, PRODUCTS, "sm_90a", 255),
        (PRODUCT, PRODUCTS, "sm_120", 255),
        (ATTENTION, ATTENTIONS, "sm_80", 255),
        (ATTENTION, ATTENTIONS, "sm_90a", 255),
        (&warpgroups, ATTENTIONS, "sm_90a", 255),
        (include_str!("kit/example_wgmma.cu"), &["wide", "columns"], "sm_90a", 255),
    ];
    for (text, entries, arch, registers) in cases {
        let entries = entries.iter().map(|&entry| entry.to_owned()).collect();
        let artifact =
            compiled(&CompileJob { entries, ..job(flat(&(including(names()) + text)), arch) }, &setup());
        let Inspected::Cubin(info) = artifact.inspected else { panic!("a cubin was asked for") };
        println!("  {arch}: {:.1} s", artifact.wall_ms as f64 / 1e3);
        for kernel in &info.kernels {
            println!("  {arch} {}: {:?} registers", kernel.name, kernel.registers);
            assert_eq!(kernel.stack_bytes, Some(0), "{arch} {}: local memory", kernel.name);
            assert!(kernel.registers.is_some_and(|count| count <= registers), "{arch} {kernel:?}");
        }
        assert_eq!(artifact.log_warnings, [], "{arch}: {:#?}", artifact.log_warnings);
    }
}

fn host_header_compiles() {
    let body = "#include <kit/host.hpp>\nextern \"C\" __attribute__((visibility(\"default\"), externally_visible)) void k(\n\
                float const* __restrict__ x, kit::bf16* __restrict__ y, int64_t n) {\n  \
                kit::from_f32(y[0], kit::blocked_sum(n, [&](int64_t i) { return x[i]; }));\n}\n";
    let source = flatten(body, &Target::host()).expect("known headers").source;
    compiled(&host(&source, "k"), &setup());
}

/// One zygote serves proposals and templates.
fn block_is_that_of_templates() {
    let plans = crate::flat::plans();
    let candidate = plans.iter().flat_map(crate::flat::candidates).next().expect("a template fills a spec");
    assert_eq!(includes(&candidate.source), kit::includes(&target()));
    let body = "#include <cute/tensor.hpp>\n#include <kit/index.cuh>\n";
    assert_eq!(includes(&flat(body)), kit::includes(&target()));
    assert_eq!(includes(&flat("#include <cute/tensor.hpp>\n")), kit::includes(&target()));
}

/// An error on a known line of the body, and one that a header's own assertion tells.
fn diagnostics_find_their_line() {
    let origin = |body: &str| {
        let flat = flatten(body, &target()).expect("known headers");
        let failure = failed(&job(flat.source, "sm_90a"), &setup());
        let line = failure.diagnostics[0].line.expect("a line");
        (flat.lines.origin(line), failure.diagnostics[0].message.clone())
    };
    let head = "#include <kit/reduce.cuh>\n\n#include <kit/vector.cuh>\nextern \"C\" __global__ void k(float* x) {\n";
    let (found, message) = origin(&format!("{head}  x[0] = 1.0f;\n  x[1] = missing;\n}}\n"));
    assert_eq!((found, message.contains("missing")), (Origin::Body { line: 6 }, true), "{message}");
    let (found, message) =
        origin(&format!("{head}  x[0] = kit::warp_reduce<kit::Sum<float>, 33>(x[0]);\n}}\n"));
    let Origin::Kit { header: "kit/reduce.cuh", line } = found else { panic!("{found:?}: {message}") };
    let header =
        kit::headers(&target()).iter().find(|header| header.name == "kit/reduce.cuh").expect("it is there");
    let text = header.text.lines().nth(line as usize - 1).expect("a line");
    assert!(text.contains("static_assert(LANES"), "{text}");
}

/// An example of a prompt: the kernel that it computes, a target, and a program that runs it, if one does.
struct Example {
    kernel: &'static str,
    target: &'static str,
    program: Option<&'static str>,
}

const SQUARES: &str = "axes = { m = '1..=64', k = '4..=4096' }\ninputs = { x = 'f32[m, k]' }\noutputs = { y = 'f32[m]' }\n\
                       math = 'y[m] = sum(k, x[m, k] * x[m, k])'";
const CONTRACTION: &str = "axes = { b = '1..=8', m = '1..=512', n = '1..=512', k = { range = '8..=4096', multiple-of = 8 } }\n\
                           inputs = { x = 'bf16[b, m, k]', w = 'bf16[b, n, k]', r = 'f32[b, m]' }\n\
                           outputs = { y = 'bf16[b, m, n]' }\n\
                           math = 'y[b, m, n] = r[b, m] * sum(k, x[b, m, k] * w[b, n, k])'";
const ATTENTION: &str = "axes = { s = '1..=4096', t = '1..=4096', d = 64 }\n\
                         inputs = { q = 'bf16[s, d]', k = 'bf16[t, d]', v = 'bf16[t, d]', bias = 'bf16[s, t]' }\n\
                         outputs = { y = 'bf16[s, d]' }\nmath = \"\"\"\n\
                         score[s, t] = sum(d, q[s, d] * k[t, d]) + bias[s, t]\ntop[s] = max(t, score[s, t])\n\
                         y[s, d] = sum(t, exp(score[s, t] - top[s]) * v[t, d]) / sum(t, exp(score[s, t] - top[s]))\n\"\"\"";
const FUSED_GRAPH: &str = "axes = { m = '1..=4096', n = '1..=4096', k = { range = '8..=4096', multiple-of = 8 } }\n\
                           inputs = { x = 'f16[m, k]', w = 'f16[n, k]', bias = 'f32[n]' }\noutputs = { y = 'f32[m]' }\n\
                           math = 'y[m] = max(n, sum(k, x[m, k] * w[n, k]) + bias[n])'";

const CONTRACTION_OF_FLOATS: &str = "axes = { b = '1..=8', m = '1..=512', n = '1..=512', k = '1..=4096' }\n\
                                     inputs = { x = 'f32[b, m, k]', w = 'f32[b, n, k]', r = 'f32[b, m]' }\n\
                                     outputs = { y = 'f32[b, m, n]' }\n\
                                     math = 'y[b, m, n] = r[b, m] * sum(k, x[b, m, k] * w[b, n, k])'";

const EXAMPLES: [Example; 9] = [
    Example { kernel: CONTRACTION_OF_FLOATS, target: "host", program: None },
    Example { kernel: SQUARES, target: "host", program: None },
    Example { kernel: SQUARES, target: "sm_90a", program: None },
    Example {
        kernel: CONTRACTION,
        target: "sm_90a",
        program: Some(include_str!("kit/prompts/contraction.cpp")),
    },
    Example { kernel: CONTRACTION, target: "sm_80", program: None },
    Example { kernel: ATTENTION, target: "sm_90a", program: Some(include_str!("kit/prompts/attention.cpp")) },
    Example { kernel: ATTENTION, target: "sm_86", program: None },
    Example {
        kernel: FUSED_GRAPH,
        target: "sm_90a",
        program: Some(include_str!("kit/prompts/fused_graph.cpp")),
    },
    Example { kernel: FUSED_GRAPH, target: "sm_120", program: None },
];

impl Example {
    /// A prompt for the very kernel of the example, so that its class is that of the example.
    fn plan(&self) -> Plan {
        let Self { kernel, target, .. } = self;
        let text = format!("edition = 1\n[kernels.example]\n{kernel}\ntargets = ['{target}']\n");
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("a right spec");
        Plan::all(&kernels).remove(0)
    }

    /// What the prompt shows.
    fn source(&self, plan: &Plan) -> String {
        let prompt = prompt::proposal(plan, "").text;
        let example = prompt.split_once("# Example").expect("an example").1.split("# What is known").next();
        let example = example.expect("an example");
        let block = example.rfind("\n```c").expect("a code block");
        proposal::source(&example[block..]).expect("one code block").0.to_owned()
    }
}

/// An example in a prompt compiles as it stands, without local memory: a reply begins from it.
fn example_compiles(example: &Example) {
    let plan = example.plan();
    let proposal = Proposal::read(&plan, &example.source(&plan), None).expect("a right proposal");
    let candidate = proposal.candidate("a compiler", "the prompt");
    let entries = candidate.contract.steps.iter().map(|step| step.entry.clone()).collect();
    let compile_for = match &plan.target {
        Target::Cuda { arch, .. } => CompileFor::Cuda { arch: arch.name().to_owned() },
        Target::Host { triple, level } => {
            CompileFor::Host { triple: triple.clone(), level: level.name().to_owned() }
        }
    };
    let artifact = compiled(&CompileJob { source: candidate.source, entries, compile_for }, &setup());
    let Inspected::Cubin(info) = artifact.inspected else { return };
    assert!(info.kernels.iter().all(|kernel| kernel.stack_bytes == Some(0)), "{:?}", info.kernels);
    assert_eq!(artifact.log_warnings, [], "{}", plan.family.name());
}

fn examples_of_prompts_compile() {
    EXAMPLES.iter().for_each(example_compiles);
}

fn examples_of_prompts_are_right() {
    for example in &EXAMPLES {
        let Some(program) = example.program else { continue };
        numbers::kernel_is_right(&example.source(&example.plan()), program);
    }
}
