//! Large contractions: the reference makes their sums on f64 tensor cores and some of them again, one term after another.
//! A naive kernel agrees with it, and a fragment that is laid out wrongly is no reference.

use std::time::Instant;

use cutegen_build::evaluate::{Judge, OnDevice, Outcome, Settings};
use cutegen_build::plan::Plan;
use cutegen_build::print::reference::{DeviceReference, print_cuda};

use crate::{Test, bench, fixtures, specs};

pub(crate) const TESTS: &[Test] = &[
    ("products::large_contractions_agree", large_contractions_agree),
    ("products::a_wrong_fragment_is_no_reference", a_wrong_fragment_is_no_reference),
];

/// 2^35 products and more, with tiles that are not full, an error in a factor, a transposed operand, a window.
const SPECS: &str = r#"
edition = 1
[kernels.large_gemm]
axes = { m = "1..=4096", n = 4100, k = 4100 }
inputs = { x = "bf16[m, k]", w = "bf16[n, k]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
workloads = [{ m = 2050 }]
[kernels.large_scaled_gemm]
axes = { m = "1..=4096", n = 4096, k = 4096 }
inputs = { x = "f16[k, m]", w = "i8[n, k]", s = "f32[n]", b = "f32[n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = silu(sum(k, x[k, m] * (w[n, k] * s[n])) + b[n])"
workloads = [{ m = 2048 }]
[kernels.large_window]
axes = { b = "1..=64", h = 56, c = 256, o = 256, r = 3, q = "r", t = "h - r + 1", u = "t" }
inputs = { x = "bf16[b, h, h, c]", w = "bf16[o, r, q, c]" }
outputs = { y = "f32[b, t, u, o]" }
math = "y[b, t, u, o] = sum((r, q, c), x[b, t + r, u + q, c] * w[o, r, q, c])"
workloads = [{ b = 64 }]
"#;

pub(crate) fn plans() -> Vec<Plan> {
    specs::plans_of(SPECS)
}

/// A session that judges a shape or two besides the workload.
fn judge(plan: &Plan, change: impl FnOnce(DeviceReference) -> DeviceReference) -> Judge {
    let printed = change(print_cuda(plan).expect("it has kernels"));
    let (question, device) = specs::question(plan);
    let cubin = fixtures::own_cubin(&printed.source, &printed.options);
    let mut settings = Settings::new(bench::workers(), 7);
    (settings.shapes_most, settings.repeats) = (2, (2, 2));
    settings.device = Some(OnDevice { reference: Some((cubin, printed)), ..device });
    Judge::new(question, settings).expect("a session")
}

fn large_contractions_agree() {
    for plan in plans() {
        let began = Instant::now();
        let outcome =
            judge(&plan, |printed| printed).full(&[specs::candidate(&plan)]).expect("one value a sum");
        let Outcome::Passed { correctness, .. } = &outcome else { panic!("{}: {outcome:?}", plan.spec.name) };
        let large = plan.spec.bind(&plan.spec.workloads[0].axes).expect("a workload");
        assert!(correctness.shapes.contains(&large), "{:?}", correctness.shapes);
        let (name, seconds) = (&plan.spec.name, began.elapsed().as_secs_f64());
        println!("    {name}: {large:?} in {seconds:.1} s, {:.3} of the bound", correctness.worst_share);
    }
}

fn a_wrong_fragment_is_no_reference() {
    let plan = &plans()[0];
    let wrong = |printed: DeviceReference| {
        let (right, swapped) = ("lane() % 4 * 2 + i % 2", "lane() % 4 * 2 + 1 - i % 2");
        assert!(printed.source.contains(right), "no `{right}`");
        DeviceReference { source: printed.source.replace(right, swapped), ..printed }
    };
    let error = judge(plan, wrong).full(&[specs::candidate(plan)]).expect_err("two values for a sum");
    assert!(error.to_string().contains("has two values for a sum"), "{error}");
}
