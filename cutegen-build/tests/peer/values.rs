//! What an expression computes, against the reference of the spec: right ones agree, others are reported.

use cutegen_build::evaluate::timing::peer::{Agreement, Blocks as _};

use crate::Test;
use crate::bench::Bench;

pub(crate) const TORCH_TESTS: &[Test] = &[
    ("values::expressions_of_the_same_math_agree", expressions_of_the_same_math_agree),
    ("values::expressions_of_other_math_are_reported", expressions_of_other_math_are_reported),
    ("values::blocks_are_timed", blocks_are_timed),
];

const SOFTMAX: &str = "axes = { m = 5, c = 33 }\ninputs = { x = 'f32[m, c]' }\noutputs = { y = 'f32[m, c]' }\n\
                       math = 'y[m, c] = softmax(c, x[m, c])'\n";
const GEMM: &str = "axes = { m = 5, n = 7, k = 16 }\ninputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\n\
                    outputs = { y = 'bf16[m, n]' }\nmath = 'y[m, n] = sum(k, x[m, k] * w[n, k])'\n";
const STRIDED: &str = "axes = { m = 5, n = 6 }\ninputs = { x = { type = 'f32[m, n]', strides = ['9', '1'] }, b = 'f32[]' }\n\
                       outputs = { y = { type = 'f32[m, n]', strides = ['1', '8'] } }\n\
                       scalars = { s = 'f32', t = 'f64' }\nmath = 'y[m, n] = s * x[m, n] + b[] * t'\n";
const TWO: &str = "axes = { m = 3, n = 40 }\ninputs = { x = 'f16[m, n]' }\noutputs = { least = 'f16[m]', at = 'i32[m]' }\n\
                   math = '''least[m] = min(n, x[m, n])\nat[m] = argmin(n, x[m, n])'''\n";
const FLOATS8: &str = "axes = { m = 3, n = 40 }\ninputs = { x = 'f8e4m3[m, n]' }\noutputs = { y = 'f32[m, n]' }\n\
                       math = 'y[m, n] = 2 * x[m, n]'\n";

fn expressions_of_the_same_math_agree() {
    for (spec, expression) in [
        (SOFTMAX, "torch.nn.functional.softmax(x, -1)"),
        (GEMM, "x @ w.T"),
        (STRIDED, "s * x + b * t"),
        (TWO, "(x.amin(-1), x.argmin(-1).int())"),
        (FLOATS8, "x.float() * 2"),
    ] {
        match Bench::new(spec).agreement(expression) {
            Agreement::Within { worst_share } => assert!((0.0..=1.0).contains(&worst_share), "{expression}"),
            Agreement::Differs(how) => panic!("{expression}: {how}"),
        }
    }
}

fn expressions_of_other_math_are_reported() {
    for (spec, expression, said) in [
        (SOFTMAX, "torch.nn.functional.softmax(x, 0)", "`y` element 0: "),
        (SOFTMAX, "torch.nn.functional.softmax(x, -1).bfloat16().float()", "within"),
        (SOFTMAX, "torch.nn.functional.softmax(x, -1).bfloat16()", "`y` is bf16, the spec has f32"),
        (SOFTMAX, "torch.nn.functional.softmax(x, -1).T", "`y` is [33, 5], the spec has [5, 33]"),
        (SOFTMAX, "torch.nn.functional.softmax(x, -1) * torch.rand(1)", ""),
        (GEMM, "(x[:, :15] @ w[:, :15].T)", "element"),
        (STRIDED, "s * x", "element"),
        (TWO, "x.amin(-1)", "gives 1 tensors, the spec has 2"),
        (TWO, "(x.amin(-1), x.argmin(-1))", "`at` is i64, the spec has i32"),
    ] {
        match Bench::new(spec).agreement(expression) {
            Agreement::Differs(how) => assert!(how.contains(said), "{expression}: {how}"),
            agrees @ Agreement::Within { .. } => panic!("{expression}: {agrees:?}"),
        }
    }
}

fn blocks_are_timed() {
    let mut bench = Bench::new(SOFTMAX);
    let prepare = bench.prepare("torch.nn.functional.softmax(x, -1)");
    let prepared = bench.peer.prepare(&prepare, crate::bench::PATIENCE).expect("it runs");
    assert!(prepared.same_when_captured && prepared.launches == 8, "{prepared:?}");
    assert_eq!(bench.peer.launches(), 8);
    let times: Vec<u64> = (0..5).map(|_| bench.peer.block().expect("a time")).collect();
    assert!(times.iter().all(|ns| (1_000..60_000_000_000).contains(ns)), "{times:?}");
}
