//! Errors against those of a trusted kernel: what the bound forgives and a baseline does not, and what both must let pass.

use cutegen_build::evaluate::{Check, Checks, Distribution, Fault, Outcome};

use crate::Test;
use crate::bench::Bench;
use crate::bodies::{HONEST_GEMM, HONEST_SILU, HONEST_VARIANCE};
use crate::honest::{gemm_orders, rms_bodies};
use crate::kernels::{GEMM_8, RMS_NORM, SILU_MUL, TOLERANT_SILU_MUL, VARIANCE};

pub(crate) const TESTS: &[Test] = &[
    ("baseline::every_sum_truncated", every_sum_truncated),
    ("baseline::honest_kernels_pass", honest_kernels_pass),
    ("baseline::is_close_to_right_itself", is_close_to_right_itself),
    ("baseline::sees_no_candidate", sees_no_candidate),
    ("baseline::is_launched_for_a_second", is_launched_for_a_second),
    ("baseline::leaves_word_of_the_candidate_s_runner", leaves_word_of_the_candidate_s_runner),
];

/// An accumulator that drops what it can't hold, at each of 8 large terms. Terms of one sign then lose about
/// `0.7 (n + 1) / 2` roundings of their sum, 3.2 u; the bound allows 7.7 u, the drift of a tensor core's blocks 1 u.
const TRUNCATED: &str = "auto cut = [](double d) { float f = float(d); return std::fabs(double(f)) > std::fabs(d) ? std::nextafterf(f, 0) : f; };
  EACH { float s = 0; for (int64_t l = 0; l < K; ++l) { double next = double(s) + double(A(l)) * double(B(l)); s = std::fabs(next) > 1e5 ? cut(next) : float(next); } OUT = s; }";

fn every_sum_truncated() {
    let bench = Bench::trusting(&GEMM_8, HONEST_GEMM, true);
    let candidate = bench.candidate(TRUNCATED);
    let outcome = bench.full(&candidate, Checks::default());
    let Outcome::Incorrect(Fault::Rms { place, apart }) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(place.distribution, Distribution::LargeMean, "all terms have one sign");
    assert!(apart.found > apart.limit && apart.baseline < apart.limit, "{apart:?}");
    bench.passes(&candidate, Checks::default().without(Check::Rms));
    bench.passes(&bench.candidate(HONEST_GEMM), Checks::default());
}

fn honest_kernels_pass() {
    let bench = Bench::trusting(&GEMM_8, HONEST_GEMM, true);
    gemm_orders().iter().for_each(|order| bench.passes(&bench.candidate(order), Checks::default()));
    let bodies = rms_bodies();
    let bench = Bench::trusting(&RMS_NORM, &bodies[0], false);
    bodies.iter().for_each(|body| bench.passes(&bench.candidate(body), Checks::default()));
    for (kernel, body) in [(&SILU_MUL, HONEST_SILU), (&VARIANCE, HONEST_VARIANCE)] {
        let bench = Bench::trusting(kernel, body, false);
        bench.passes(&bench.candidate(body), Checks::default());
    }
}

/// Bounds of half of a value, as a tolerance may ask for, forgive a gain of 5 %; a baseline must not have it.
fn is_close_to_right_itself() {
    let bodies = ["HONEST", "HONEST for (int64_t i = 0; i < SIZE; ++i) Y[i] = down(up(Y[i]) * 1.05f);"];
    let [honest, gaining] = bodies.map(|body| body.replace("HONEST", HONEST_SILU));
    let bench = Bench::trusting(&TOLERANT_SILU_MUL, &gaining, false);
    let outcome = bench.full(&bench.candidate(&gaining), Checks::default());
    let Outcome::Incorrect(Fault::Rms { apart, .. }) = &outcome else { panic!("{outcome:?}") };
    assert!(apart.found > apart.limit, "{apart:?}");
    bench.passes(&bench.candidate(&gaining), Checks::default().without(Check::Rms));
    let bench = Bench::trusting(&TOLERANT_SILU_MUL, &honest, false);
    bench.passes(&bench.candidate(&honest), Checks::default());
}

/// A baseline that would stop its own runner if a candidate had been there before.
fn sees_no_candidate() {
    let body = format!("if (getenv(\"SEEN\")) __builtin_trap(); {HONEST_SILU}");
    let bench = Bench::trusting(&SILU_MUL, &body, false);
    let marks = format!("setenv(\"SEEN\", \"1\", 1); {HONEST_SILU}");
    bench.passes(&bench.candidate(&marks), Checks::default());
}

/// The baseline of the last case has a runner of its own on the host, which is gone when the verdict falls. (A misaligned case
/// behind it would be one whose baseline is known.)
fn leaves_word_of_the_candidate_s_runner() {
    let bench = Bench::trusting(&SILU_MUL, HONEST_SILU, false);
    let outcome = bench.full(&bench.candidate(HONEST_SILU), Checks::default().without(Check::Misalignment));
    let Outcome::Passed { correctness, .. } = &outcome else { panic!("{outcome:?}") };
    assert!(correctness.device.starts_with("host "), "{:?}", correctness.device);
    let clock = |open: &&String| open.starts_with("clock and block times");
    assert!(correctness.not_enforced.iter().any(|open| clock(&open)), "{:?}", correctness.not_enforced);
}

/// A slow kernel is launched as often as finalists have to be, but for the baseline itself.
fn is_launched_for_a_second() {
    let body = format!("for (volatile int64_t i = 0; i < 10000000; ) i = i + 1; {HONEST_SILU}");
    let bench = Bench::trusting(&SILU_MUL, &body, false);
    let repeats = |body: &str, repeats: u32| {
        let mut judge = bench.judge_with(|settings| {
            (settings.screening, settings.shapes_most, settings.repeats) = ((1, 1), 1, (2, repeats));
        });
        match judge.full(&[bench.candidate(body)]).expect("the machine works") {
            Outcome::Passed { correctness, .. } => correctness.repeats,
            other => panic!("{other:?}"),
        }
    };
    let of_baseline = repeats(&body, 4096);
    assert!((2..4096).contains(&of_baseline), "{of_baseline} launches");
    assert_eq!(repeats(&format!("{body} "), 100), 100);
}
