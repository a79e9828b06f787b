//! Incumbents through the judge: cuBLASLt in one runner with a kernel of ours, PyTorch in a process beside it, and what
//! the card said meanwhile.

use cutegen_build::evaluate::timing::peer::Mode;
use cutegen_build::evaluate::wire::gemm::gemm_of;
use cutegen_build::evaluate::wire::protocol::Regime;
use cutegen_build::evaluate::{Incumbent, Judge, Measured, Unmeasured};
use cutegen_build::plan::Plan;

use crate::{Test, bench, incumbents, specs};

pub(crate) const TESTS: &[Test] = &[
    ("measured::cublaslt_beats_a_naive_product", cublaslt_beats_a_naive_product),
    ("measured::a_library_without_the_product_is_told", a_library_without_the_product_is_told),
    ("measured::torch_takes_turns_with_a_runner", torch_takes_turns_with_a_runner),
    ("measured::the_card_is_watched", the_card_is_watched),
];

const PRODUCT: &str = r#"
edition = 1
[kernels.product]
axes = { m = "1..=4096", n = "1..=4096", k = "1..=4096" }
inputs = { x = "bf16[m, k]", w = "bf16[n, k]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
"#;

const SOFTMAX: &str = r#"
edition = 1
[kernels.softmax]
axes = { m = "1..=4096", n = "1..=4096" }
inputs = { x = "f32[m, n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = softmax(n, x[m, n])"
"#;

/// What is compiled beforehand.
pub(crate) fn plans() -> Vec<Plan> {
    [PRODUCT, SOFTMAX].iter().flat_map(|text| specs::read(text)).map(|spec| specs::plan(&spec)).collect()
}

fn judge(plan: &Plan) -> Judge {
    specs::judge_with(plan, |settings| {
        settings.libraries = incumbents::library_folders();
        settings.python = Some(incumbents::python());
    })
}

fn timed(measured: Result<Measured, Unmeasured>) -> Measured {
    let measured = measured.unwrap_or_else(|unmeasured| panic!("{unmeasured:?}"));
    println!("    {measured:?}");
    measured
}

fn cublaslt_beats_a_naive_product() {
    let plan = plans().remove(0);
    let (mut judge, naive) = (judge(&plan), specs::candidate(&plan));
    for axes in [[512, 512, 1024], [200, 328, 72]] {
        let library = Incumbent::CublasLt(gemm_of(&plan, &axes).expect("a product"));
        for regime in [Regime::Burst, Regime::Sustained] {
            let measured = timed(judge.measure(&naive, &library, &axes, regime).expect("the machine works"));
            assert!(measured.about.is_some_and(|about| about.contains("heuristic")), "it is named");
            assert_eq!(measured.differs, None);
            assert_eq!(measured.comparison.samples, 30);
            assert!(
                measured.comparison.high < 1.0 || axes[0] < 512,
                "a library is faster than a naive kernel"
            );
        }
    }
    // the same runner's sandbox layers and memory are right for what is judged next
    bench::passes(&mut judge, &naive);
}

fn a_library_without_the_product_is_told() {
    let plan = plans().remove(0);
    let (mut judge, naive) = (judge(&plan), specs::candidate(&plan));
    let mut gemm = gemm_of(&plan, &[64, 64, 64]).expect("a product");
    gemm.a.ld = 1; // rows that overlap
    let measured = judge.measure(&naive, &Incumbent::CublasLt(gemm), &[64, 64, 64], Regime::Burst);
    let Err(Unmeasured::Incumbent(reason)) = measured.expect("the machine works") else {
        panic!("no library multiplies that")
    };
    println!("    {reason}");
    bench::passes(&mut judge, &naive);
}

fn torch_takes_turns_with_a_runner() {
    let plan = plans().remove(1);
    let (mut judge, naive) = (judge(&plan), specs::candidate(&plan));
    let axes = [1024, 1024];
    for mode in [Mode::Eager, Mode::Compile] {
        let torch = Incumbent::Torch("torch.softmax(x, -1)".to_owned(), mode);
        let measured = timed(judge.measure(&naive, &torch, &axes, Regime::Burst).expect("the machine works"));
        assert!(measured.about.is_some_and(|about| about.contains("PyTorch")), "it is named");
        assert_eq!((measured.differs, measured.comparison.samples), (None, 30));
        assert!(measured.comparison.high < 1.0, "PyTorch is faster than a naive kernel");
    }
    let other = Incumbent::Torch("torch.softmax(x, 0)".to_owned(), Mode::Eager);
    let measured = timed(judge.measure(&naive, &other, &axes, Regime::Burst).expect("the machine works"));
    assert!(measured.differs.is_some_and(|differs| differs.contains("element")), "another sum");
    let broken = Incumbent::Torch("torch.softmaximum(x)".to_owned(), Mode::Eager);
    let measured = judge.measure(&naive, &broken, &axes, Regime::Burst).expect("the machine works");
    assert!(matches!(measured, Err(Unmeasured::Incumbent(_))), "{measured:?}");
}

fn the_card_is_watched() {
    let mut judge = bench::judge();
    assert_eq!(judge.not_watched(), None);
    let itself = Incumbent::Variant(bench::honest());
    for regime in [Regime::Burst, Regime::Sustained] {
        let measured = judge.measure(&bench::honest(), &itself, &[4096, 4096], regime);
        let measured = timed(measured.expect("the machine works"));
        assert_eq!((measured.samples.len(), measured.comparison.samples), (4, 30));
        assert!(measured.samples.iter().all(|sample| sample.sm_mhz.is_some_and(|mhz| mhz > 100)));
        assert!((measured.comparison.speedup - 1.0).abs() <= 0.01, "parts do not tell A from A");
    }
}
