//! What must pass: honest kernels in every summation order, and lists of variants as the runtime dispatches them.

use cutegen_build::evaluate::{Checks, Outcome};
use cutegen_spec::contract::{Initial, KEPT_ZERO_MAX, WorkspacePart};
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::IntExpr;

use crate::Test;
use crate::bench::Bench;
use crate::bodies::{HONEST_GEMM, HONEST_RMS_NORM, HONEST_SILU, HONEST_VARIANCE};
use crate::kernels::{GEMM, GEMM_F32, RMS_NORM, SILU_MUL, VARIANCE};

pub(crate) const TESTS: &[Test] = &[
    ("honest::silu_mul", silu_mul),
    ("honest::rms_norm_in_three_orders", rms_norm),
    ("honest::gemm_in_five_orders", gemm),
    ("honest::two_pass_variance", variance),
    ("honest::workspace_of_both_kinds", workspace),
    ("honest::kept_zero", kept_zero),
    ("honest::kept_zero_has_a_limit", kept_zero_has_a_limit),
    ("honest::dispatched_list", list),
    ("honest::screening_agrees", screening),
    ("honest::screening_launches_whoever_is_eligible_somewhere", screening_of_few_shapes),
];

fn silu_mul() {
    let bench = Bench::new(&SILU_MUL);
    report(&bench.full(&bench.candidate(HONEST_SILU), Checks::default()));
}

fn rms_norm() {
    let bench = Bench::new(&RMS_NORM);
    for body in rms_bodies() {
        report(&bench.full(&bench.candidate(&body), Checks::default()));
    }
}

/// In three orders.
pub(crate) fn rms_bodies() -> [String; 3] {
    let forward = "for (int64_t j = 0; j < N; ++j) s += up(x[j]) * up(x[j]);";
    let backward = "for (int64_t j = N; j-- > 0;) s += up(x[j]) * up(x[j]);";
    let lanes = "float q[8] = {}; for (int64_t j = 0; j < N; ++j) q[j % 8] += up(x[j]) * up(x[j]);
      for (int l = 0; l < 8; ++l) s += q[l];";
    [forward, backward, lanes].map(rms_body)
}

fn rms_body(order: &str) -> String {
    HONEST_RMS_NORM.replace("for (int64_t j = 0; j < N; ++j) s += up(x[j]) * up(x[j]);", order)
}

fn gemm() {
    for kernel in [&*GEMM, &*GEMM_F32] {
        let bench = Bench::new(kernel);
        for order in gemm_orders() {
            report(&bench.full(&bench.candidate(order), Checks::default()));
        }
    }
}

pub(crate) fn gemm_orders() -> [&'static str; 5] {
    [
        HONEST_GEMM,
        "EACH { float s = 0; for (int64_t l = K; l-- > 0;) s += A(l) * B(l); OUT = s; }",
        "EACH { float s[16] = {}, t = 0; for (int64_t l = 0; l < K; ++l) s[l % 16] += A(l) * B(l);
           for (float v : s) t += v; OUT = t; }",
        "EACH { float a = 0, b = 0; int64_t h = K / 2; for (int64_t l = 0; l < h; ++l) a += A(l) * B(l);
           for (int64_t l = h; l < K; ++l) b += A(l) * B(l); OUT = a + b; }",
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s = fmaf(A(l), B(l), s); OUT = s; }",
    ]
}

fn variance() {
    let bench = Bench::new(&VARIANCE);
    report(&bench.full(&bench.candidate(HONEST_VARIANCE), Checks::default()));
}

fn workspace() {
    let bench = Bench::new(&SILU_MUL);
    let args = "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) workspace(w0):zeroed workspace(w1):undefined";
    let body = "float* zero = PTR(float, 5); float* any = PTR(float, 6); any[0] = 1;
      for (int64_t i = 0; i < SIZE; ++i) Y[i] = down(up(one(X[i], G[i])) * any[0] + zero[249] * 0 + zero[0]);
      zero[0] = 5; any[249] = 3;";
    // +0 from the workspace turns -0 into 0, which is within every bound
    report(&bench.full(&bench.with_args(body, args), Checks::default()));
}

/// What is kept zero is found zero by every launch, judged or timed, and lies apart from all else.
fn kept_zero() {
    let bench = Bench::new(&SILU_MUL);
    let args = "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) workspace(w0):undefined workspace(w1):kept-zero";
    let body = "uint32_t* any = PTR(uint32_t, 5); uint32_t* zero = PTR(uint32_t, 6); ++any[0];
      uint32_t used = 0; for (int i = 0; i < 250; ++i) used |= zero[i];
      for (int64_t i = 0; i < SIZE; ++i) Y[i] = used ? 0 : one(X[i], G[i]);
      zero[3] = 5; zero[3] = 0;";
    let candidate = bench.with_args(body, args);
    report(&bench.full(&candidate, Checks::default()));
    let honest = bench.candidate(HONEST_SILU);
    let timed = bench.judge(Checks::default()).compare(&candidate, &honest, &[64, 64]).expect("works");
    assert!(timed.is_ok(), "{timed:?}");
    let left = bench.with_args(&body.replace("zero[3] = 0", "zero[3] = 1"), args);
    let told = bench.full(&left, Checks::default()).to_string();
    assert!(told.contains("left not zero what its contract keeps zero"), "{told}");
    assert!(told.contains("byte 12 of workspace w1"), "{told}");
}

/// More is kept zero than a kernel may keep.
fn kept_zero_has_a_limit() {
    let bench = Bench::new(&SILU_MUL);
    let mut greedy = bench.candidate(HONEST_SILU);
    let bytes = IntExpr::Const(KEPT_ZERO_MAX + 1);
    greedy.contract.workspace.push(WorkspacePart { bytes, initial: Initial::KeptZero });
    let told = bench.full(&greedy, Checks::default()).to_string();
    assert!(told.contains("keeps 1048832 bytes zero, more than the 1048576"), "{told}");
}

/// A fast variant for even sizes, wrong elsewhere, followed by one for all: right as a list, and the first alone is
/// right where it is eligible. The other way round the list would be wrong.
fn list() {
    let bench = Bench::new(&SILU_MUL);
    let even = "for (int64_t i = 0; i + 1 < SIZE; i += 2) { Y[i] = one(X[i], G[i]); Y[i + 1] = one(X[i + 1], G[i + 1]); }";
    let mut fast = bench.candidate(even);
    fast.eligibility = Eligibility::parse_positional("(a0 * a1) % 2 == 0").expect("parses");
    let any = bench.candidate(HONEST_SILU);
    bench.passes(&fast, Checks::default());
    let outcome = bench.judge(Checks::default()).full(&[fast.clone(), any]).expect("works");
    report(&outcome);
    fast.eligibility = Eligibility::default();
    assert!(matches!(bench.full(&fast, Checks::default()), Outcome::Incorrect(_)));
}

fn screening() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_GEMM);
    let wrong = bench.candidate("EACH OUT = 0;");
    for _ in 0..3 {
        assert!(matches!(judge.screen(&honest), Ok(Outcome::Passed { .. })));
        assert!(matches!(judge.screen(&wrong), Ok(Outcome::Incorrect(_))));
    }
}

/// Eligible at none of the shapes that screening takes first: it takes some where it is, and judges there.
fn screening_of_few_shapes() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    for (body, is_right) in [(HONEST_GEMM, true), ("EACH OUT = 0;", false)] {
        let mut narrow = bench.candidate(body);
        narrow.eligibility = Eligibility::parse_positional("a0 % 24 == 0").expect("parses");
        let outcome = judge.screen(&narrow).expect("works");
        match outcome {
            Outcome::Passed { ref correctness, .. } if is_right => {
                assert!(correctness.shapes.iter().all(|shape| shape[0] % 24 == 0), "{outcome}");
            }
            Outcome::Incorrect(_) if !is_right => {}
            other => panic!("{other}"),
        }
    }
}

fn report(outcome: &Outcome) {
    let Outcome::Passed { correctness, .. } = outcome else { panic!("{outcome}") };
    let loose = correctness
        .inconclusive
        .iter()
        .map(|n| n.distribution.name())
        .collect::<std::collections::BTreeSet<_>>();
    println!(
        "    {} elements at {} shapes x {} distributions, worst share {:.2}, not judged {}, loose somewhere {loose:?}",
        correctness.elements,
        correctness.shapes.len(),
        correctness.distributions.len(),
        correctness.worst_share,
        correctness.not_judged,
    );
}
