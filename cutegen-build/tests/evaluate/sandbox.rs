//! What a host candidate tries on the machine: each attempt is refused in a runner with sandbox layers, and gets through in one
//! without, so that it is the sandbox layers which refuse it. A candidate whose attempt got through gives wrong numbers.

use cutegen_build::evaluate::Outcome;

use crate::Test;
use crate::bench::Bench;
use crate::kernels::GEMM;

pub(crate) const TESTS: &[Test] = &[
    ("sandbox::reads_a_file", reads_a_file),
    ("sandbox::opens_a_socket", opens_a_socket),
    ("sandbox::signals_the_judge", signals_the_judge),
    ("sandbox::starts_a_program", starts_a_program),
    ("sandbox::leaves_its_namespace", leaves_its_namespace),
    ("sandbox::leaves_its_process_group", leaves_its_process_group),
];

/// A raw system call: no library stands between.
const CALL: &str = r#"
static long call(long n, long a, long b, long c) {
  long r;
  __asm__ volatile("xorl %%r10d, %%r10d\n\tsyscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r10", "r11", "memory");
  return r;
}
"#;

/// `attempt` is an expression that is true where it got through.
fn refused(attempt: &str) {
    let bench = Bench::new(&GEMM);
    let body = format!(
        "const bool through = {attempt};
         EACH {{ float s = 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = through ? s + 1000 : s; }}"
    );
    let source = format!("{}{CALL}extern \"C\" void candidate(void** p) {{\n{body}\n}}\n", GEMM.arguments);
    let candidate = bench.whole(&source, GEMM.args);
    let judged = |layers: bool| {
        let mut judge = bench.judge_with(|settings| settings.workers.limits.sandboxed = layers);
        judge.screen(&candidate).expect("the machine works")
    };
    let (with, without) = (judged(true), judged(false));
    assert!(
        matches!(without, Outcome::Incorrect(_)),
        "without the sandbox `{attempt}` gets through: {without:?}"
    );
    match with {
        Outcome::Passed { correctness, .. } => {
            let open = correctness.not_enforced.join("; ");
            assert!(!open.contains("landlock") && !open.contains("seccomp"), "{open}");
        }
        // a system without them must say so, and the attempt gets through
        other => panic!("{attempt}: {other:?}"),
    }
}

fn reads_a_file() {
    refused("call(257, -100, (long)\"/etc/passwd\", 0) >= 0"); // openat
}

fn opens_a_socket() {
    refused("call(41, 2, 1, 0) >= 0"); // socket
}

fn signals_the_judge() {
    refused("call(62, call(110, 0, 0, 0), 0, 0) == 0"); // kill(getppid(), 0)
}

/// No such program: refused before that is found out.
fn starts_a_program() {
    refused("call(59, (long)\"/nowhere\", 0, 0) == -2"); // execve, ENOENT
}

fn leaves_its_namespace() {
    refused("call(272, 0, 0, 0) == 0"); // unshare(nothing)
}

fn leaves_its_process_group() {
    refused("call(112, 0, 0, 0) != -1 || call(109, 0, 0, 0) == 0"); // setsid, setpgid; EPERM is -1
}
