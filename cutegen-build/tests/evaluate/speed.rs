//! Timing. Figures are printed, never asserted to be small: this machine may be shared.

use cutegen_build::evaluate::{Check, Checks, Crash, Outcome};

use crate::Test;
use crate::bench::Bench;
use crate::bodies::HONEST_GEMM;
use crate::kernels::GEMM;

pub(crate) const TESTS: &[Test] =
    &[("speed::a_a_and_a_slower_one", comparisons), ("speed::outcomes", outcomes)];

fn comparisons() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_GEMM);
    let twice =
        bench.candidate(&format!("{HONEST_GEMM} __asm__ volatile(\"\" ::: \"memory\"); {HONEST_GEMM}"));
    for (name, other) in [("A/A", &honest), ("against one that computes twice", &twice)] {
        for axes in [[16, 16, 64], [64, 64, 256]] {
            let comparison = judge.compare(&honest, other, &axes).expect("works").expect("both are timed");
            println!("    {name} at {axes:?}: {comparison:.4?}");
            assert!(comparison.samples == 30 && comparison.low <= comparison.speedup);
            assert!(name == "A/A" || comparison.low > 1.2, "twice the work shows on any machine");
        }
    }
}

fn outcomes() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_GEMM);
    let crashing = bench.candidate(&format!("static int n = 0; if (++n == 100) abort(); {HONEST_GEMM}"));
    let outcome = judge.compare(&crashing, &honest, &[16, 16, 64]).expect("works");
    assert_eq!(outcome, Err(Outcome::Crashed(Crash::Signal(6))));
    let lazy = bench
        .candidate(&format!("static int n = 0; if (++n > 70) {{ EACH OUT = 0; return; }} {HONEST_GEMM}"));
    let outcome = judge.compare(&lazy, &honest, &[16, 16, 64]).expect("works");
    println!("    {outcome:?}");
    assert!(
        matches!(&outcome, Err(Outcome::Incorrect(fault)) if fault.check() == Check::Timed),
        "works less when it is timed"
    );
}
