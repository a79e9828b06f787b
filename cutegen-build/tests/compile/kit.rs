//! The kit's headers under the pinned compilers and on the host: each alone and all together compile, examples keep their
//! fragments in registers, diagnostics find their line of the body, and what the headers compute is held against plain loops
//! in double. The numbers come from the headers' own text over `kit/emulated.hpp`, without a GPU: only `ptx.cuh` has a
//! stand-in. What a device must show beside: the PTX itself, approximations of its hardware, weak memory order, speed.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

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

use crate::setup::{compiled, failed, host, setup, toolchain};

pub(crate) const TESTS: &[crate::Test] = &[
    ("kit::headers_pass_the_guard", headers_pass_the_guard),
    ("kit::headers_compile_alone_and_together", headers_compile_alone_and_together),
    ("kit::examples_keep_their_fragments_in_registers", examples_keep_their_fragments_in_registers),
    ("kit::host_header_compiles", host_header_compiles),
    ("kit::block_is_that_of_templates", block_is_that_of_templates),
    ("kit::diagnostics_find_their_line", diagnostics_find_their_line),
    ("kit::examples_of_prompts_compile", examples_of_prompts_compile),
    ("kit::reductions_are_right", reductions_are_right),
    ("kit::copies_and_prefixes_are_right", copies_and_prefixes_are_right),
    ("kit::host_numbers_are_right", host_numbers_are_right),
    ("kit::planted_faults_are_found", planted_faults_are_found),
];

const EMULATED: &str = include_str!("kit/emulated.hpp");
/// Before every program: what counts its checks.
const CHECKS: &str = include_str!("kit/checks.hpp");
const REDUCTIONS: Program =
    Program { headers: &["vector", "reduce", "online_softmax"], text: include_str!("kit/reductions.cpp") };

const COPIES: Program =
    Program { headers: &["ring", "pipeline", "scan"], text: include_str!("kit/copies.cpp") };

/// What stands in a header, and what instead: each must be found by a program of checks.
const PLANTED: &[(Program, &str, &str)] = &[
    (
        REDUCTIONS,
        "  x = lane < warps ? slots[lane] : Op::none();\n  __syncthreads();\n",
        "  x = lane < warps ? slots[lane] : Op::none();\n",
    ),
    (REDUCTIONS, "  __syncthreads();\n  x = lane < warps", "  x = lane < warps"),
    (REDUCTIONS, "lane < warps ? slots[lane] : Op::none()", "slots[lane]"),
    (REDUCTIONS, "b.index < a.index))", "b.index > a.index))"),
    (REDUCTIONS, "b_nan ? !a_nan :", "b_nan ? false :"),
    (REDUCTIONS, "from == -infinity() ? 0.0f : exp", "exp"),
    (REDUCTIONS, "is_finite ? a.mean", "true ? a.mean"),
    (REDUCTIONS, "delta * (delta * (a.n * part))", "delta * (delta * part)"),
    (
        REDUCTIONS,
        "x = (lane & mask) != 0 ? Op::join(other, x) : Op::join(x, other);",
        "x = Op::join(x, other);",
    ),
    (REDUCTIONS, "count >= N && is_aligned<N>(from)", "count >= N"),
    (REDUCTIONS, "i < count ? to_f32(from[i]) : fill", "to_f32(from[i])"),
    (COPIES, "ptx_barrier_wait(barriers.empty[turn.stage], (turn.round & 1) ^ 1);", ""),
    (COPIES, "ptx_barrier_wait(barriers.full[turn.stage], turn.round & 1);", ""),
    (
        COPIES,
        "ptx_barrier_expect(barriers.full[turn.stage], bytes);",
        "ptx_barrier_expect(barriers.full[turn.stage], 0);",
    ),
    (COPIES, "ptx_copies_wait<LATER>()", "ptx_copies_wait<LATER + 1>()"),
    (COPIES, "x + N <= plane.width &&", "x < plane.width &&"),
    (COPIES, "is_aligned<N>(to) && is_aligned<N>(from + x)", "is_aligned<N>(to)"),
    (COPIES, "? from[x + e] : fill", "? from[x + e] : T()"),
    (COPIES, "x = Op::join(below, x);", "x = Op::join(x, below);"),
    (
        COPIES,
        "  __syncthreads();\n  const typename Op::State previous",
        "  const typename Op::State previous",
    ),
];

/// A program of checks over headers.
#[derive(Clone, Copy)]
struct Program {
    headers: &'static [&'static str],
    text: &'static str,
}

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
    let cases = [
        (EXAMPLE, ROWS, "sm_90a"),
        (EXAMPLE, ROWS, "sm_80"),
        (include_str!("kit/example_ring.cu"), &["chunk_sums"], "sm_90a"),
    ];
    for (text, entries, arch) in cases {
        let entries = entries.iter().map(|&entry| entry.to_owned()).collect();
        let artifact =
            compiled(&CompileJob { entries, ..job(flat(&(including(names()) + text)), arch) }, &setup());
        let Inspected::Cubin(info) = artifact.inspected else { panic!("a cubin was asked for") };
        for kernel in &info.kernels {
            println!("  {arch} {}: {:?} registers", kernel.name, kernel.registers);
            assert_eq!(kernel.stack_bytes, Some(0), "{arch} {}: local memory", kernel.name);
            assert!(kernel.registers.is_some_and(|count| count <= 64), "{arch} {kernel:?}");
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

/// The program's checks over headers in which `was` stands as `now`: what they print, or what was wrong.
fn checked(program: Program, (was, now): (&str, &str), folder: &Path) -> Result<String, String> {
    let names = program.headers.iter().map(|name| format!("kit/{name}.cuh"));
    let names: Vec<String> = names.collect();
    let source = flat(&including(names.iter().map(String::as_str)));
    let ptx =
        kit::headers(&target()).iter().find(|header| header.name == "kit/ptx.cuh").expect("it is there").text;
    let source = source.strip_prefix(kit::includes(&target())).expect("the block").replace(ptx, "");
    assert!(source.contains(was), "no `{was}` in the headers");
    run(&format!("{EMULATED}\n{}\n{}", source.replace(was, now), program.text), &[], folder)
}

/// What a C++ program prints, as an error where it says that something is wrong.
fn run(source: &str, flags: &[&str], folder: &Path) -> Result<String, String> {
    let (text, run) = (folder.join("kit.cpp"), folder.join("kit"));
    std::fs::write(&text, format!("{CHECKS}\n{source}")).expect("written");
    let roots = toolchain().header_roots.into_iter().map(|root| format!("-I{}", root.display()));
    let always = ["-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off", "-o"];
    let mut compiler = Command::new("c++");
    let built =
        compiler.args(always).arg(&run).arg(&text).args(roots).args(flags).output().expect("c++ starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&run).output().expect("it starts");
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    if ran.status.success() { Ok(said) } else { Err(said) }
}

fn right(said: Result<String, String>) {
    let said = said.unwrap_or_else(|said| panic!("{said}"));
    println!("  {said}");
    let count: u32 = said.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a count");
    assert!(count > 1000, "{said}");
}

fn reductions_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    right(checked(REDUCTIONS, ("", ""), folder.path()));
}

fn copies_and_prefixes_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    right(checked(COPIES, ("", ""), folder.path()));
}

/// As it is, and with two faults.
fn host_numbers_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = flatten("#include <kit/host.hpp>\n", &Target::host()).expect("known headers").source;
    let with = |was: &str, now: &str| {
        assert!(source.contains(was), "no `{was}`");
        let text = source.replace(was, now) + include_str!("kit/host.cpp");
        run(&text, &["-march=x86-64-v3"], folder.path())
    };
    right(with("", ""));
    assert!(with("BLOCK = 256", "BLOCK = 1 << 30").is_err(), "long chains");
    assert!(with("0x7fff + (word >> 16 & 1)", "0x8000").is_err(), "ties away from zero");
}

fn planted_faults_are_found() {
    let queue = Mutex::new(PLANTED.iter());
    let work = || {
        let folder = tempfile::tempdir().expect("a folder");
        while let Some((program, was, now)) = { queue.lock().expect("not poisoned").next() } {
            let found = checked(*program, (was, now), folder.path());
            println!("  {now}: {}", found.as_ref().err().map_or("not found", String::as_str));
            assert!(found.is_err(), "`{was}` as `{now}` is not found");
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
}

/// The example in a prompt for this target compiles as it stands: a reply begins from it.
fn example_compiles(target: &str) {
    let text = format!(
        "edition = 1\n[kernels.squares]\naxes = {{ m = '1..=64', k = '4..=4096' }}\ninputs = {{ x = 'f32[m, k]' }}\n\
         outputs = {{ y = 'f32[m]' }}\nmath = 'y[m] = sum(k, x[m, k] * x[m, k])'\ntargets = ['{target}']\n"
    );
    let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("a right spec");
    let plan = Plan::all(&kernels).remove(0);
    let prompt = prompt::proposal(&plan, "").text;
    let example = prompt.split_once("# Example").expect("an example").1.split("# What is known").next();
    let (source, _) = proposal::source(example.expect("an example")).expect("one code block");
    let proposal = Proposal::read(&plan, source, None).expect("a right proposal");
    let candidate = proposal.candidate("a compiler", "the prompt");
    let entries = candidate.contract.steps.iter().map(|step| step.entry.clone()).collect();
    let compile_for = match &plan.target {
        Target::Cuda { arch, .. } => CompileFor::Cuda { arch: arch.name().to_owned() },
        Target::Host { triple, level } => {
            CompileFor::Host { triple: triple.clone(), level: level.name().to_owned() }
        }
    };
    compiled(&CompileJob { source: candidate.source, entries, compile_for }, &setup());
}

fn examples_of_prompts_compile() {
    ["host", "sm_90a"].into_iter().for_each(example_compiles);
}
