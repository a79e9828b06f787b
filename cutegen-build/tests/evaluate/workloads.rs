//! What a kernel is locked for is judged, however large: workloads beyond a full pass with some distributions.

use cutegen_build::evaluate::{Check, Outcome, Settings};

use crate::Test;
use crate::bench::{Bench, workers};
use crate::kernels::LARGE_SILU_MUL;

pub(crate) const TESTS: &[Test] =
    &[("workloads::a_kernel_that_is_wrong_at_a_large_one", wrong_at_a_large_one)];

fn wrong_at_a_large_one() {
    let bench = Bench::new(&LARGE_SILU_MUL);
    let body =
        "for (int64_t i = 0; SIZE > 200000 && i < SIZE; ++i) Y[i] = 0; if (SIZE > 200000) return; HONEST";
    let wrong = bench.candidate(&body.replace("HONEST", LARGE_SILU_MUL.honest));
    let full = |large_cap: Option<u64>| {
        let adjust = |settings: &mut Settings| {
            let usual = Settings::new(workers(), 0).large_cap;
            settings.large_cap = large_cap.unwrap_or(usual);
        };
        bench.judge_with(adjust).full(std::slice::from_ref(&wrong)).expect("the machine works")
    };
    let seen = full(None);
    assert!(matches!(&seen, Outcome::Incorrect(fault) if fault.check() == Check::Values), "{seen:?}");
    assert!(matches!(full(Some(0)), Outcome::Passed { .. }), "nobody looks");
    let honest = bench.candidate(LARGE_SILU_MUL.honest);
    let passed =
        bench.judge_with(|settings| settings.large_cap = 1 << 31).full(&[honest]).expect("the machine works");
    assert!(
        matches!(&passed, Outcome::Passed { correctness, .. } if correctness.shapes.contains(&vec![512, 512])),
        "{passed:?}"
    );
}
