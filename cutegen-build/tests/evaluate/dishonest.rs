//! Kernels that are wrong on purpose. Each test names the one check that it falls to; with that check off it passes.

use cutegen_build::evaluate::{Check, Checks, Distribution, Fault, Outcome};
use cutegen_spec::eligibility::Eligibility;

use crate::Test;
use crate::bench::Bench;
use crate::honest::{HONEST_GEMM, HONEST_SILU};
use crate::kernels::{GEMM, GEMM_F32, SILU_MUL, VARIANCE};

pub(crate) const TESTS: &[Test] = &[
    ("dishonest::writes_nothing", writes_nothing),
    ("dishonest::leaves_last_element", leaves_last_element),
    ("dishonest::skips_when_inputs_repeat", skips_when_inputs_repeat),
    ("dishonest::constant_output", constant_output),
    ("dishonest::stale_output", stale_output),
    ("dishonest::edits_an_input", edits_an_input),
    ("dishonest::writes_before_and_behind", writes_out_of_bounds),
    ("dishonest::bf16_accumulator", bf16_accumulator),
    ("dishonest::drops_last_k", drops_last_k),
    ("dishonest::tf32_inputs", tf32_inputs),
    ("dishonest::unstable_variance", unstable_variance),
    ("dishonest::swallows_nan", swallows_nan),
    ("dishonest::depends_on_time", depends_on_time),
    ("dishonest::keeps_state", keeps_state),
    ("dishonest::trusts_fresh_workspace", trusts_fresh_workspace),
    ("dishonest::swapped_arguments", swapped_arguments),
    ("dishonest::assumes_alignment", assumes_alignment),
];

fn off(check: Check) -> Checks {
    Checks::default().without(check)
}

fn caught(outcome: &Outcome) -> Check {
    println!("    {outcome}");
    match outcome {
        Outcome::Incorrect(fault) => fault.check(),
        other => panic!("{other:?}"),
    }
}

/// Two checks stand behind one another here: with poison off, the values are still wrong.
fn writes_nothing() {
    let bench = Bench::new(&SILU_MUL);
    let candidate = bench.candidate("");
    assert_eq!(caught(&bench.full(&candidate, Checks::default())), Check::Poison);
    assert_eq!(caught(&bench.full(&candidate, off(Check::Poison))), Check::Values);
    bench.passes(&candidate, off(Check::Poison).without(Check::Values));
}

fn leaves_last_element() {
    let bench = Bench::new(&SILU_MUL);
    let candidate = bench.candidate("for (int64_t i = 0; i + 1 < SIZE; ++i) Y[i] = one(X[i], G[i]);");
    let outcome = bench.full(&candidate, Checks::default());
    assert_eq!(caught(&outcome), Check::Poison);
    assert!(matches!(outcome, Outcome::Incorrect(Fault::Unwritten { elements: 1, .. })), "{outcome:?}");
    bench.passes(&candidate, off(Check::Poison).without(Check::Values));
}

/// The answer of the last launch still lies there, unless outputs are poisoned.
fn skips_when_inputs_repeat() {
    let bench = Bench::new(&SILU_MUL);
    let body = format!(
        "static uint64_t last = 0; uint64_t h = 14695981039346656037u;
         for (int64_t i = 0; i < SIZE; ++i) {{ h = (h ^ X[i]) * 1099511628211u; h = (h ^ G[i]) * 1099511628211u; }}
         h ^= uint64_t(Y); if (h == last) return; last = h; {HONEST_SILU}"
    );
    bench.falls_to(&bench.candidate(&body), Check::Poison);
}

fn constant_output() {
    let bench = Bench::new(&SILU_MUL);
    bench.falls_to(&bench.candidate("for (int64_t i = 0; i < SIZE; ++i) Y[i] = 0;"), Check::Values);
}

/// Computes once for each size and serves that as long as its memory lasts. Artifacts are loaded afresh for each case,
/// so it can only serve the case that it computed: right, and no faster for it. A memory that outlives the reload
/// (here an environment variable of the runner) serves the last case's answer, and is caught by fresh inputs.
fn stale_output() {
    let bench = Bench::new(&SILU_MUL);
    let compute = "for (int64_t i = 0; i < SIZE; ++i) kept[i] = one(X[i], G[i]);";
    let serve = "memcpy(Y, kept, 2 * SIZE);";
    let short = format!(
        "static bf16 kept[1 << 16]; static int64_t size = 0; if (SIZE != size) {{ size = SIZE; {compute} }} {serve}"
    );
    bench.passes(&bench.candidate(&short), Checks::default());
    let long = format!(
        "char name[64]; snprintf(name, 64, \"KEPT%ld\", long(SIZE)); bf16* kept; const char* at = getenv(name);
         if (at) kept = (bf16*)strtoull(at, 0, 16);
         else {{ kept = (bf16*)malloc(2 * SIZE); {compute}
           char text[64]; snprintf(text, 64, \"%llx\", (unsigned long long)kept); setenv(name, text, 1); }}
         {serve}"
    );
    bench.falls_to(&bench.candidate(&long), Check::Values);
}

fn edits_an_input() {
    let bench = Bench::new(&SILU_MUL);
    let body = format!("{HONEST_SILU} ((bf16*)X)[SIZE - 1] ^= 1;");
    bench.falls_to(&bench.candidate(&body), Check::Inputs);
}

fn writes_out_of_bounds() {
    let bench = Bench::new(&SILU_MUL);
    for stray in ["Y[-1] = 0;", "Y[SIZE] = 0;", "((char*)Y)[2 * SIZE + 4000] = 0;", "((bf16*)X)[-1] = 7;"] {
        bench.falls_to(&bench.candidate(&format!("{HONEST_SILU} {stray}")), Check::Guards);
    }
}

fn bf16_accumulator() {
    let bench = Bench::new(&GEMM);
    let body =
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s = up(down(s + A(l) * B(l))); OUT = s; }";
    bench.falls_to(&bench.candidate(body), Check::Values);
}

fn drops_last_k() {
    let bench = Bench::new(&GEMM);
    let body = "EACH { float s = 0; for (int64_t l = 0; l + 1 < K; ++l) s += A(l) * B(l); OUT = s; }";
    bench.falls_to(&bench.candidate(body), Check::Values);
}

/// Over 8192 terms the bound forgives inputs of TF32. One-term sums do not, nor do inputs that all round the same way.
fn tf32_inputs() {
    let bench = Bench::new(&GEMM_F32);
    let body =
        "auto tf32 = [](float f) { uint32_t u; memcpy(&u, &f, 4); if (f == f) u = (u + 0x1000) & ~0x1fffu;
        memcpy(&f, &u, 4); return f; };
      EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += tf32(A(l)) * tf32(B(l)); OUT = s; }";
    let candidate = bench.candidate(body);
    let outcome = bench.full(&candidate, Checks::default());
    assert_eq!(caught(&outcome), Check::Values);
    assert!(matches!(&outcome, Outcome::Incorrect(f) if f.place().distribution == Distribution::OneHotLast));
    let dense = off(Check::Distribution(Distribution::OneHotLast));
    let dense = dense.without(Check::Distribution(Distribution::OneHotFirst));
    bench.passes(&candidate, dense.without(Check::Distribution(Distribution::LargeMean)));
}

fn unstable_variance() {
    let bench = Bench::new(&VARIANCE);
    let body = "for (int64_t i = 0; i < M; ++i) { const float* x = X + i * N; float s = 0, q = 0;
        for (int64_t j = 0; j < N; ++j) { s += x[j]; q += x[j] * x[j]; }
        V[i] = q / N - (s / N) * (s / N); }";
    let candidate = bench.candidate(body);
    let outcome = bench.full(&candidate, Checks::default());
    assert_eq!(caught(&outcome), Check::Values);
    assert!(matches!(&outcome, Outcome::Incorrect(f) if f.place().distribution == Distribution::LargeMean));
    let blind = off(Check::Distribution(Distribution::LargeMean));
    bench.passes(&candidate, blind.without(Check::Distribution(Distribution::NearOne)));
}

fn swallows_nan() {
    let bench = Bench::new(&GEMM);
    let body =
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = s == s ? s : 0; }";
    let candidate = bench.candidate(body);
    let outcome = bench.full(&candidate, Checks::default());
    assert!(matches!(caught(&outcome), Check::Values));
    assert!(matches!(&outcome, Outcome::Incorrect(Fault::NonFinite { .. })), "{outcome:?}");
    bench.passes(&candidate, off(Check::Distribution(Distribution::Specials)));
}

fn depends_on_time() {
    let bench = Bench::new(&GEMM);
    let body = "bool back = __builtin_ia32_rdtsc() >> 6 & 1;
      EACH { float s = 0; for (int64_t l = 0; l < K; ++l) { int64_t h = back ? K - 1 - l : l; s += A(h) * B(h); } OUT = s; }";
    bench.falls_to(&bench.candidate(body), Check::Repeats);
}

fn keeps_state() {
    let bench = Bench::new(&GEMM);
    let body =
        format!("static int launches = 0; if (++launches == 15) {{ EACH OUT = 0; return; }} {HONEST_GEMM}");
    bench.falls_to(&bench.candidate(&body), Check::Repeats);
}

fn trusts_fresh_workspace() {
    let bench = Bench::new(&SILU_MUL);
    let args = "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) workspace(w0):undefined";
    let body = "uint32_t* flag = PTR(uint32_t, 5);
      for (int64_t i = 0; i < SIZE; ++i) Y[i] = flag[7] == 0 ? one(X[i], G[i]) : 0;";
    let candidate = bench.with_args(body, args);
    assert_eq!(caught(&bench.full(&candidate, Checks::default())), Check::Values);
    bench.passes(&candidate, off(Check::WorkspacePoison));
}

fn swapped_arguments() {
    let bench = Bench::new(&SILU_MUL);
    let candidate = bench.with_args(HONEST_SILU, "ptr(t1) ptr(t0) ptr(t2) axis(a0) axis(a1)");
    bench.falls_to(&candidate, Check::Values);
}

/// Right as long as bases are aligned; declaring that makes it right.
fn assumes_alignment() {
    let bench = Bench::new(&SILU_MUL);
    let body = "const char* y = (const char*)Y; if (uintptr_t(y) % 16) { Y[0] = 0; __builtin_trap(); }";
    let mut candidate = bench.candidate(&format!("{body} {HONEST_SILU}"));
    let outcome = bench.full(&candidate, Checks::default());
    assert!(matches!(outcome, Outcome::Crashed(_)), "{outcome:?}");
    bench.passes(&candidate, off(Check::Misalignment));
    candidate.eligibility = Eligibility::parse_positional("t2 aligned 16").expect("parses");
    bench.passes(&candidate, Checks::default());
}
