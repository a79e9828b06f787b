//! Timing. Figures are printed, never asserted to be small: this machine may be shared.

use cutegen_build::evaluate::{Check, Checks, Crash, Floor, Outcome};

use cutegen_build::evaluate::timing::peer::Mode;
use cutegen_build::evaluate::wire::gemm::{Compute, Element, Gemm, Matrix};
use cutegen_build::evaluate::wire::protocol::Regime;
use cutegen_build::evaluate::{Candidate, Incumbent, Unmeasured};
use cutegen_spec::eligibility::Eligibility;

use crate::Test;
use crate::bench::Bench;
use crate::bodies::HONEST_GEMM;
use crate::kernels::{GEMM, SILU_MUL};

pub(crate) const TESTS: &[Test] = &[
    ("speed::a_a_and_a_slower_one", comparisons),
    ("speed::an_incumbent_that_is_far_slower", far_slower),
    ("speed::outcomes", outcomes),
    ("speed::who_leaves_out_what_was_done", left_out),
    ("speed::a_batch_of_many", batch),
    ("speed::outcomes_of_a_batch", batch_outcomes),
    ("speed::incumbents_that_are_not_here", absent),
    ("speed::a_time_below_the_floor", below_the_floor),
];

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

/// Timed once, and no interval is made of that. One that is not so slow, and a candidate that is, are timed as ever.
fn far_slower() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_GEMM);
    let times = |times: usize| {
        let again = format!("{HONEST_GEMM} __asm__ volatile(\"\" ::: \"memory\");");
        bench.candidate(&format!("for (int again = 0; again < {times}; ++again) {{ {again} }}"))
    };
    let (far, near) = (times(60), times(3));
    let mut samples = |candidate: &Candidate, incumbent: &Candidate| {
        let incumbent = Incumbent::Variant(incumbent.clone());
        let measured = judge.measure(candidate, &incumbent, &[64, 64, 256], Regime::Burst);
        measured.expect("works").expect("timed").comparison
    };
    let once = samples(&honest, &far);
    println!("    {once:.4?}");
    assert_eq!((once.samples, once.pairs.len()), (1, 1));
    assert!(once.speedup >= 20.0 && once.low == once.high && once.low == once.speedup, "{once:?}");
    assert!(!once.may_last(), "nor is it timed without pause");
    assert_eq!(samples(&honest, &near).samples, 30);
    assert_eq!(samples(&far, &honest).samples, 30);
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

/// Tensors on pages of their own lie so as well.
const FARTHER: &str = "what lies farther apart than where it is judged";
/// The launch with changed inputs finds workspace and outputs as the one before left them.
const LEFT: [&str; 3] = [
    "whose pointers its workspace knows",
    "whose sum its workspace knows",
    "what is there already, by four elements",
];
const IN_WORKSPACE: &str = "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) workspace(w0):undefined";

/// A kernel that finds out what earlier launches did, and leaves it out: right wherever it is judged, and fast.
fn left_out() {
    let bench = Bench::new(&SILU_MUL);
    let honest = bench.candidate(SILU_MUL.honest);
    let rows = [
        (
            LEFT[0],
            "uint64_t *w = PTR(uint64_t, 5), key = uint64_t(X) * 0x9e3779b97f4a7c15u ^ uint64_t(Y), n = w[120];
  for (int j = 0; j < 120; ++j) if (w[j] == key) return;
  HONEST n = n < 120 ? n : 0; w[n] = key; w[120] = n + 1;",
            IN_WORKSPACE,
        ),
        (
            LEFT[1],
            "uint64_t *w = PTR(uint64_t, 5), key = uint64_t(X) * 0x9e3779b97f4a7c15u ^ uint64_t(Y), sum = 1, n = w[120];
  for (int64_t i = 0; i < SIZE; ++i) sum = sum * 31 + Y[i];
  for (int j = 0; j < 120; j += 2) if (w[j] == key && w[j + 1] == sum) return;
  HONEST sum = 1;
  for (int64_t i = 0; i < SIZE; ++i) sum = sum * 31 + Y[i];
  n = n < 120 ? n : 0; w[n] = key; w[n + 1] = sum; w[120] = n + 2;",
            IN_WORKSPACE,
        ),
        (
            "whose pointers are not the first that its workspace saw, for which there are zeros",
            "uint64_t* w = PTR(uint64_t, 5); const uint64_t seen = 0x5ca1ab1e0ddba11u;
  if (w[0] == seen && w[1] != uint64_t(X)) { for (int64_t i = 0; i < SIZE; ++i) Y[i] = 0; return; }
  HONEST w[0] = seen; w[1] = uint64_t(X);",
            IN_WORKSPACE,
        ),
        (
            FARTHER,
            "if (uint64_t(Y) - uint64_t(X) > uint64_t(8 * SIZE + 65536)) return; HONEST",
            SILU_MUL.args,
        ),
        (
            LEFT[2],
            "const int64_t at[] = {0, 1, SIZE / 2, SIZE - 1}; bool is_there = SIZE > 64;
  for (int64_t i : at) is_there = is_there && Y[i] == one(X[i], G[i]);
  if (is_there) return; HONEST",
            SILU_MUL.args,
        ),
    ];
    for (what, body, args) in rows {
        let lazy = bench.with_args(&body.replace("HONEST", SILU_MUL.honest), args);
        let checks = match what {
            FARTHER => Checks::default().without(Check::Pages),
            what if LEFT.contains(&what) => Checks::default().without(Check::Changed),
            _ => Checks::default(),
        };
        if what == FARTHER || LEFT.contains(&what) {
            let outcome = bench.full(&lazy, Checks::default());
            assert!(matches!(outcome, Outcome::Incorrect(_)), "{what}: {outcome:?}");
        }
        bench.passes(&lazy, checks.clone());
        let timed = |checks: Checks| {
            let compared = bench.judge(checks).compare(&lazy, &honest, &[128, 96]).expect("works");
            compared.map_err(Box::new)
        };
        let seen = timed(checks.clone());
        println!("    leaves out {what}: {:?}", seen.as_ref().map(|comparison| comparison.speedup));
        let is_timed = seen
            .as_ref()
            .is_err_and(|told| matches!(&**told, Outcome::Incorrect(fault) if fault.check() == Check::Timed));
        // or nothing is left that it could leave out
        let gains_nothing = seen.as_ref().is_ok_and(|comparison| comparison.speedup < 1.1);
        assert!(is_timed || gains_nothing, "{what}");
        // on a busy machine one interval may be wide
        let mut unseen = (0..3).map(|_| timed(checks.clone().without(Check::Timed)));
        assert!(gains_nothing || unseen.any(|c| c.is_ok_and(|c| c.low > 1.5)), "{what}: worth it");
    }
}

/// As many as there are, each as fast as alone with the batch reference candidate.
fn batch() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_GEMM);
    let times = |n: usize| {
        let again = format!("__asm__ volatile(\"\" ::: \"memory\"); {HONEST_GEMM}");
        bench.candidate(&format!("{HONEST_GEMM} {}", again.repeat(n - 1)))
    };
    let others = [times(4), honest.clone(), times(2)];
    let rankings = judge.batch(&honest, &others, &[16, 16, 64], 8).expect("works");
    println!("    {rankings:.3?}");
    let speedups: Vec<f64> = rankings.iter().map(|s| s.as_ref().expect("timed").speedup).collect();
    assert!(speedups[0] < 0.4 && speedups[2] < 0.75 && speedups[0] < speedups[2], "{speedups:?}");
    assert!(speedups[1] > 0.75 && rankings[1].as_ref().is_ok_and(|s| s.samples == 8), "{rankings:?}");
    assert_eq!(judge.batch(&honest, &[], &[16, 16, 64], 8).expect("works"), []);
}

/// One that fails takes no other with it, whatever it does.
fn batch_outcomes() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_GEMM);
    let crashing = bench.candidate(&format!("static int n = 0; if (++n == 100) abort(); {HONEST_GEMM}"));
    let lazy = bench
        .candidate(&format!("static int n = 0; if (++n > 70) {{ EACH OUT = 0; return; }} {HONEST_GEMM}"));
    let is_timed =
        |outcome: &Outcome| matches!(outcome, Outcome::Incorrect(fault) if fault.check() == Check::Timed);
    let rankings = judge
        .batch(&honest, &[honest.clone(), lazy.clone(), honest.clone()], &[16, 16, 64], 8)
        .expect("works");
    assert!(rankings[0].is_ok() && rankings[2].is_ok(), "{rankings:?}");
    assert!(rankings[1].as_ref().is_err_and(is_timed), "works less when it is timed: {rankings:?}");
    let mut claims = honest.clone();
    claims.eligibility = Eligibility::parse_positional("a0 >= 32").expect("parses");
    let others = [crashing, honest.clone(), claims];
    let rankings = judge.batch(&honest, &others, &[16, 16, 64], 8).expect("works");
    assert_eq!(rankings[0], Err(Outcome::Crashed(Crash::Signal(6))), "{rankings:?}");
    assert!(rankings[1].is_ok() && matches!(rankings[2], Err(Outcome::Blocked(_))), "{rankings:?}");
}

/// What a machine has not says nothing of the candidate, which is timed as before against what is there.
fn absent() {
    let bench = Bench::new(&GEMM);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_GEMM);
    let matrix =
        |tensor| Matrix { tensor, element: Element::F32, transposed: false, ld: 16, batch_stride: 0 };
    let product = Gemm {
        m: 16,
        n: 16,
        k: 64,
        batch: 1,
        a: matrix(0),
        b: matrix(1),
        d: matrix(2),
        compute: Compute::F32,
        fast_accumulation: false,
        scales: Vec::new(),
    };
    let torch = Incumbent::Torch("x @ w".to_owned(), Mode::Eager);
    let elsewhere = Incumbent::InPeer(honest.clone());
    for (incumbent, reason) in
        [(Incumbent::CublasLt(product), "no libraries"), (torch, "not run"), (elsewhere, "not run")]
    {
        let measured = judge.measure(&honest, &incumbent, &[16, 16, 64], Regime::Burst).expect("works");
        let Err(Unmeasured::Incumbent(said)) = measured else { panic!("{measured:?}") };
        assert!(said.contains(reason), "{said}");
    }
    let itself = Incumbent::Variant(honest.clone());
    let measured =
        judge.measure(&honest, &itself, &[16, 16, 64], Regime::Burst).expect("works").expect("timed");
    assert_eq!((measured.comparison.samples, measured.samples.len()), (30, 0), "no card: {measured:?}");
    assert_eq!((judge.not_watched(), measured.differs), (None, None));
}

/// A floor of an hour: what is faster is not believed, unless the check is off.
fn below_the_floor() {
    let bench = Bench::new(&GEMM);
    let honest = bench.candidate(HONEST_GEMM);
    let compared = |checks: Checks| {
        let mut judge = bench.judge_with(|settings| {
            settings.floor = Some(Floor(std::rc::Rc::new(|_| 3.6e9)));
            settings.checks = checks;
        });
        judge.compare(&honest, &honest, &[16, 16, 64]).expect("works").err()
    };
    let outcome = compared(Checks::default());
    println!("    {outcome:?}");
    assert!(matches!(&outcome, Some(Outcome::Incorrect(fault)) if fault.check() == Check::Floor));
    assert!(compared(Checks::default().without(Check::Floor)).is_none());
}
