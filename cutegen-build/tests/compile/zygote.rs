//! Forks of a zygote: the same bytes and words as a worker of its own gives, and what goes wrong in one costs only it.

use std::path::Path;
use std::time::{Duration, Instant};

use cutegen_build::compile::{
    Batch, CompileOutcome, FailureReason, Limits, compile_in, compile_unguarded, compile_unguarded_in,
    includes,
};
use cutegen_build::generate::template::Templates;
use cutegen_build::generate::{Candidate, naive};
use cutegen_build::plan::Plan;
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;

use crate::setup::{compiled, cuda, failed, of_candidate, setup, setup_with, tight, toolchain};

pub(crate) const TESTS: &[crate::Test] = &[
    ("zygote::all_templates_begin_alike", all_templates_begin_alike),
    ("zygote::forks_give_a_workers_bytes", forks_give_a_workers_bytes),
    ("zygote::forks_give_a_workers_words", forks_give_a_workers_words),
    ("zygote::what_goes_wrong_costs_only_itself", what_goes_wrong_costs_only_itself),
    ("zygote::hangs_end_at_the_wall", hangs_end_at_the_wall),
    ("zygote::headers_that_do_not_compile_are_read_again", headers_that_do_not_compile_are_read_again),
    ("zygote::zygotes_that_are_not_ours_are_errors", zygotes_that_are_not_ours_are_errors),
];

/// A map, rows that are reduced, and a scan.
const FILES: [&str; 3] = ["elementwise/silu_mul.toml", "norm/rms_norm.toml", "scan/cumsum.toml"];

fn plans() -> Vec<Plan> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-specs");
    let target = Target::parse("sm_90a").expect("a target");
    let text = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let specs = |file: &str| spec_file(&text(file), &Default::default()).into_kernels().expect(file);
    FILES.iter().map(|file| Plan::new(&specs(file)[0], &target)).collect()
}

fn candidates(plan: &Plan) -> Vec<Candidate> {
    Templates::new("pinned").space(plan)
}

fn all_templates_begin_alike() {
    let all: Vec<Candidate> = plans().iter().flat_map(candidates).collect();
    let first = includes(&all[0].source);
    assert!(first.contains("<cute/tensor_impl.hpp>"), "{first}");
    for candidate in &all {
        assert_eq!(includes(&candidate.source), first, "{}", candidate.name);
        let rest = candidate.source.matches("#include").count();
        assert_eq!(rest, first.lines().count(), "{}: more includes further down", candidate.name);
    }
}

/// The naive kernel begins otherwise: a fork compiles it all the same.
fn forks_give_a_workers_bytes() {
    let plans = plans();
    let mut all: Vec<Candidate> =
        plans.iter().filter_map(|plan| candidates(plan).into_iter().next()).collect();
    assert_eq!(all.len(), FILES.len());
    // a busy machine takes its time
    let setup = setup_with(toolchain(), Limits { wall: Duration::from_secs(900), ..Limits::default() });
    let batch = Batch::start(&setup, "sm_90a", &all[0].source).expect("a zygote");
    all.push(naive::candidate(&plans[0], "pinned"));
    for (at, candidate) in all.iter().enumerate() {
        let alone = compiled(&of_candidate(candidate), &setup);
        let fork = match compile_in(&batch, &of_candidate(candidate)).expect("a fork") {
            CompileOutcome::Compiled(fork) => *fork,
            CompileOutcome::Failed(failure) => panic!("{}: {failure:#?}", candidate.name),
        };
        println!("  {}: {} ms alone, {} ms in a fork", candidate.name, alone.wall_ms, fork.wall_ms);
        assert!(alone.bytes == fork.bytes, "{}: other bytes", candidate.name);
        assert_eq!(alone.log_warnings, fork.log_warnings, "{}", candidate.name);
        assert_eq!(alone.confinement, fork.confinement, "{}", candidate.name);
        assert_eq!(fork.precompiled, at < FILES.len(), "{}", candidate.name);
        assert!(!alone.precompiled);
    }
}

fn forks_give_a_workers_words() {
    let source = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n\n__device__ int f() {\n  int unused;\n  return nowhere;\n}\n";
    let batch = Batch::start(&setup(), "sm_90a", source).expect("a zygote");
    let job = cuda(source, &["k"]);
    let CompileOutcome::Failed(fork) = compile_in(&batch, &job).expect("a fork") else {
        panic!("no such name")
    };
    assert_eq!(fork, failed(&job, &setup()));
    assert_eq!(fork.diagnostics.iter().find_map(|said| said.line), Some(6), "{fork:?}");
    let forbidden = cuda("#include <cuda_fp16.h>\n#include \"/etc/passwd\"\n", &["k"]);
    let CompileOutcome::Failed(failure) = compile_in(&batch, &forbidden).expect("no fork") else {
        panic!("the guard stands before forks too")
    };
    assert!(matches!(failure.reason, FailureReason::Forbidden(_)), "{failure:?}");
}

const HONEST: &str =
    "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(__half* p) { p[threadIdx.x] = p[0]; }\n";

/// Bombs of templates, of text and of bytes, each beside an honest source.
fn what_goes_wrong_costs_only_itself() {
    let bombs = [
        "template <int N, int M> struct B { enum { v = B<N - 1, 2 * M>::v & B<N - 1, 2 * M + 1>::v }; };\n\
         template <int M> struct B<0, M> { enum { v = 1 }; };\nint x = B<24, 1>::v;\n",
        "#define A(x) x x x x x x x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint y = 0 B(B(+ 1));\n",
        "__device__ char big[64 << 20] = {1};\nextern \"C\" __global__ void k(char* p) { *p = big[threadIdx.x]; }",
    ];
    let limits = Limits { wall: Duration::from_secs(15), cpu: Duration::from_secs(3), ..tight() };
    let batch = Batch::start(&setup_with(toolchain(), limits), "sm_90a", HONEST).expect("a zygote");
    let alone =
        compile_unguarded(&cuda(HONEST, &["k"]), &setup()).expect("a worker").expect("compiles").bytes;
    let honest = |when: &str| {
        let fork = compile_unguarded_in(&batch, &cuda(HONEST, &["k"])).expect("a fork").expect("compiles");
        assert!(fork.bytes == alone && fork.precompiled, "{when} bombs");
    };
    std::thread::scope(|scope| {
        for bomb in bombs {
            let batch = &batch;
            scope.spawn(move || {
                let source = format!("#include <cuda_fp16.h>\n{bomb}");
                let started = Instant::now();
                let failure = compile_unguarded_in(batch, &cuda(&source, &["k"])).expect("the zygote lives");
                let reason = failure.expect_err("a bomb").reason;
                println!("  {reason:?} after {:.1} s", started.elapsed().as_secs_f32());
                assert_ne!(reason, FailureReason::Diagnostics);
            });
        }
        (0..3).for_each(|_| honest("beside"));
    });
    honest("after");
}

/// The deadline holds for each fork by itself, and what has passed it is gone.
fn hangs_end_at_the_wall() {
    let hang = "#include <cuda_fp16.h>\n#define A(x) x x x x x x x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\n\
                int y = 0 B(B(+ 1));\n";
    let limits = Limits { wall: Duration::from_secs(4), memory_bytes: 8 << 30, ..tight() };
    let batch = Batch::start(&setup_with(toolchain(), limits), "sm_90a", HONEST).expect("a zygote");
    // whatever the start took is over
    let _ = compile_unguarded_in(&batch, &cuda("", &[])).expect("a fork");
    for _ in 0..2 {
        let started = Instant::now();
        let failure = compile_unguarded_in(&batch, &cuda(hang, &["k"])).expect("a fork").expect_err("a hang");
        let ended = [FailureReason::TimedOut, FailureReason::OverMemory].contains(&failure.reason);
        assert!(ended, "{:?}", failure.reason);
        assert!(started.elapsed() < Duration::from_secs(8), "the deadline holds");
    }
}

fn headers_that_do_not_compile_are_read_again() {
    let source = "#include <cuda/nowhere.h>\nextern \"C\" __global__ void k() {}\n";
    let batch = Batch::start(&setup(), "sm_90a", source).expect("a zygote");
    let fork = compile_unguarded_in(&batch, &cuda(source, &["k"])).expect("the zygote lives");
    assert_eq!(fork.expect_err("no such header").reason, FailureReason::Diagnostics);
    let honest = compile_unguarded_in(&batch, &cuda(HONEST, &["k"])).expect("a fork").expect("compiles");
    assert!(!honest.precompiled, "a source that begins otherwise");
}

fn zygotes_that_are_not_ours_are_errors() {
    let mut setup = setup();
    for (exe, word) in [("/bin/true", "answers no more"), ("/nonexistent/worker", "starting")] {
        setup.workers.exe = exe.into();
        let error = Batch::start(&setup, "sm_90a", HONEST)
            .and_then(|batch| compile_unguarded_in(&batch, &cuda(HONEST, &["k"])))
            .expect_err("not ours")
            .to_string();
        assert!(error.contains(word) || error.contains("starting"), "{error}");
        assert!(error.ends_with("`cargo cutegen toolchain show`"), "{error}");
    }
}
