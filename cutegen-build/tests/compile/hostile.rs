//! Hostile sources straight into the worker, guard off: the client lives, gets data, and learns no file's content.

use std::time::{Duration, Instant};

use cutegen_build::compile::{
    CompileFailure, CompileJob, FailureReason, Limits, SandboxLayers, compile_unguarded,
};

use crate::setup::{cuda, failed, host, setup, setup_with, tight, toolchain};

pub(crate) const TESTS: &[crate::Test] = &[
    ("hostile::files_are_not_shown", files_are_not_shown),
    ("hostile::files_are_not_embedded", files_are_not_embedded),
    ("hostile::template_bombs_end", template_bombs_end),
    ("hostile::cpu_time_is_limited", cpu_time_is_limited),
    ("hostile::endless_includes_end", endless_includes_end),
    ("hostile::large_output_ends", large_output_ends),
    ("hostile::hangs_end_at_the_wall", hangs_end_at_the_wall),
    ("hostile::workers_that_are_not_ours_are_errors", workers_that_are_not_ours_are_errors),
];

fn outcome(job: &CompileJob, limits: Limits) -> Result<Vec<u8>, CompileFailure> {
    let started = Instant::now();
    let outcome =
        compile_unguarded(job, &setup_with(toolchain(), limits)).expect("a hostile source is no error");
    let told = outcome
        .as_ref()
        .map_or_else(|failure| format!("{:?}", failure.reason), |raw| format!("{} bytes", raw.bytes.len()));
    println!("  {told} after {:.1} s", started.elapsed().as_secs_f32());
    outcome.map(|raw| raw.bytes)
}

fn open(landlock: bool) -> Limits {
    Limits { layers: SandboxLayers { landlock, ..tight().layers }, ..tight() }
}

/// With Landlock the file cannot be opened; without it, the log is scrubbed.
fn files_are_not_shown() {
    for landlock in [true, false] {
        let limits = open(landlock);
        for source in
            ["#include \"/etc/passwd\"\n", "#include </etc/passwd>\n", "int x =\n#include \"/etc/passwd\"\n;"]
        {
            for job in [cuda(source, &["k"]), host(source, "k")] {
                let failure = outcome(&job, limits).expect_err("a password file is no C++");
                assert_eq!(failure.reason, FailureReason::Diagnostics);
                let shown = format!("{:?}", failure.diagnostics);
                assert!(!shown.contains("root"), "landlock {landlock}, {source:?}: {shown}");
            }
        }
    }
}

/// What the guard refuses and the compiler would do; only Landlock stands between.
fn files_are_not_embedded() {
    let source = "__asm__(\".section .rodata\\n.incbin \\\"/etc/passwd\\\"\\n.text\"); extern \"C\" __attribute__((externally_visible)) void k() {}";
    let holds = |bytes: &[u8]| bytes.windows(5).any(|window| window == b"root:");
    let embedded = outcome(&host(source, "k"), open(false));
    assert!(embedded.is_ok_and(|bytes| holds(&bytes)), "without the sandbox the file gets through");
    let reason = failed(&host(source, "k"), &setup()).reason;
    assert!(
        matches!(reason, FailureReason::Forbidden(_)),
        "the guard keeps it from the compiler: {reason:?}"
    );
    if compile_unguarded(&cuda("", &[]), &setup())
        .expect("compiles")
        .is_ok_and(|raw| raw.confinement.landlock)
    {
        assert!(outcome(&host(source, "k"), tight()).is_err());
    }
}

fn template_bombs_end() {
    let bomb = "template <int N, int M> struct B { enum { v = B<N - 1, 2 * M>::v & B<N - 1, 2 * M + 1>::v }; };\n\
                template <int M> struct B<0, M> { enum { v = 1 }; };\nint x = B<24, 1>::v;\n";
    for job in [cuda(bomb, &["k"]), host(bomb, "k")] {
        let failure = outcome(&job, tight()).expect_err("a bomb");
        let limited = [FailureReason::TimedOut, FailureReason::OverMemory].contains(&failure.reason)
            || matches!(failure.reason, FailureReason::Crashed(_));
        assert!(limited, "{failure:?}");
    }
}

/// The CPU limit acts alone too; without a clock of ours.
fn cpu_time_is_limited() {
    let bomb =
        "#define A(x) x x x x x x x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint y = 0 B(B(+ 1));\n";
    let limits = Limits {
        cpu: Duration::from_secs(1),
        wall: Duration::from_secs(120),
        memory_bytes: 16 << 30,
        ..tight()
    };
    for job in [cuda(bomb, &["k"]), host(bomb, "k")] {
        assert_eq!(outcome(&job, limits).expect_err("a bomb").reason, FailureReason::TimedOut);
    }
}

fn endless_includes_end() {
    for landlock in [true, false] {
        for job in [cuda("#include \"/dev/zero\"\n", &["k"]), host("#include \"/dev/zero\"\n", "k")] {
            assert!(outcome(&job, open(landlock)).is_err());
        }
    }
    let itself = "#include __FILE__\n#include __FILE__\n";
    assert!(outcome(&host(itself, "k"), tight()).is_err());
}

fn large_output_ends() {
    let device = "__device__ char big[64 << 20] = {1};\nextern \"C\" __global__ void k(char* p) { *p = big[threadIdx.x]; }";
    let object = "extern \"C\" __attribute__((externally_visible)) const char k[64 << 20] = {1};";
    let limits = Limits { wall: Duration::from_secs(120), cpu: Duration::from_secs(60), ..tight() };
    for job in [cuda(device, &["k"]), host(object, "k")] {
        assert_eq!(outcome(&job, limits).expect_err("64 MiB").reason, FailureReason::OutputTooLarge);
    }
}

fn hangs_end_at_the_wall() {
    let bomb =
        "#define A(x) x x x x x x x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint y = 0 B(B(+ 1));\n";
    let loops = "constexpr int f() { unsigned x = 0; for (unsigned i = 0; i < 4000000000u; ++i) x += i; return x; }\nconstexpr int y = f();";
    let limits = Limits { wall: Duration::from_secs(2), memory_bytes: 8 << 30, ..tight() };
    for job in [cuda(bomb, &["k"]), host(bomb, "k"), cuda(loops, &["k"])] {
        let started = Instant::now();
        assert!(outcome(&job, limits).is_err());
        assert!(started.elapsed() < Duration::from_secs(4), "the deadline holds");
    }
}

fn workers_that_are_not_ours_are_errors() {
    let mut setup = setup();
    for (exe, word) in [("/bin/true", "answered no reply"), ("/nonexistent/worker", "starting")] {
        setup.workers.exe = exe.into();
        let error = compile_unguarded(&cuda("", &[]), &setup).expect_err("not ours").to_string();
        assert!(error.contains(word) && error.ends_with("`cargo cutegen toolchain show`"), "{error}");
    }
}
