//! The specs of the corpora. References are printed from them, as in a search.

use cutegen_build::evaluate::{Baseline, Floor, Judge, OnDevice, Question, Settings};
use cutegen_build::plan::cost::cost;
use cutegen_build::plan::sums::ExactIntegers;
use cutegen_build::plan::sums::only_sums;
use cutegen_build::plan::{Plan, roofline};
use cutegen_build::print;
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;

use crate::{bench, fixtures};

/// One spec.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    table: &'static str,
    /// Sums of small integers are exact.
    exact: bool,
}

const fn subject(name: &'static str, table: &'static str, exact: bool) -> Subject {
    Subject { name, table, exact }
}

macro_rules! elementwise {
    ($name:ident, $t:literal) => {
        pub(crate) static $name: Subject = subject(
            concat!("silu ", $t),
            concat!(
                "axes = { m = \"1..=4096\", n = \"1..=4096\" }\ninputs = { x = \"",
                $t,
                "[m, n]\", g = \"",
                $t,
                "[m, n]\" }\noutputs = { y = \"",
                $t,
                "[m, n]\" }\nmath = \"y[m, n] = silu(g[m, n]) * x[m, n]\"\n"
            ),
            false,
        );
    };
}

macro_rules! rowwise {
    ($name:ident, $called:literal, $in:literal, $out:literal, $math:literal, $exact:literal) => {
        pub(crate) static $name: Subject = subject(
            concat!($called, " ", $in),
            concat!(
                "axes = { m = \"1..=512\", n = \"16..=4096\" }\ninputs = { x = \"",
                $in,
                "[m, n]\" }\noutputs = { y = \"",
                $out,
                "\" }\nmath = \"",
                $math,
                "\"\n"
            ),
            $exact,
        );
    };
}

macro_rules! contraction {
    ($name:ident, $in:literal, $out:literal) => {
        pub(crate) static $name: Subject = subject(
            concat!("gemm ", $in),
            concat!(
                "axes = { m = \"1..=512\", n = \"1..=512\", k = \"1..=512\" }\ninputs = { x = \"",
                $in,
                "[m, k]\", w = \"",
                $in,
                "[n, k]\" }\noutputs = { y = \"",
                $out,
                "[m, n]\" }\nmath = \"y[m, n] = sum(k, x[m, k] * w[n, k])\"\n"
            ),
            true,
        );
    };
}

macro_rules! norm {
    ($name:ident, $t:literal) => {
        pub(crate) static $name: Subject = subject(
            concat!("rms_norm ", $t),
            concat!(
                "axes = { m = \"1..=512\", n = \"1..=4096\" }\ninputs = { x = \"", $t, "[m, n]\", w = \"", $t,
                "[n]\" }\noutputs = { y = \"", $t,
                "[m, n]\" }\nscalars = { eps = \"f32\" }\nmath = \"y[m, n] = rms_norm(n, x[m, n], eps) * w[n]\"\n"
            ),
            false,
        );
    };
}

/// Of weights.
pub(crate) static SILU_OF_WEIGHTS: Subject = subject(
    "silu of weights",
    r#"
axes = { m = "1..=4096", n = "1..=4096" }
inputs = { x = "bf16[m, n]", g = { type = "bf16[m, n]", constant = true } }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = silu(g[m, n]) * x[m, n]"
"#,
    false,
);
elementwise!(SILU_F32, "f32");
elementwise!(SILU_F16, "f16");
elementwise!(SILU_BF16, "bf16");
rowwise!(SOFTMAX_F32, "softmax", "f32", "f32[m, n]", "y[m, n] = softmax(n, x[m, n])", false);
rowwise!(SOFTMAX_F16, "softmax", "f16", "f16[m, n]", "y[m, n] = softmax(n, x[m, n])", false);
rowwise!(SOFTMAX_BF16, "softmax", "bf16", "bf16[m, n]", "y[m, n] = softmax(n, x[m, n])", false);
rowwise!(SUM_F32, "sum", "f32", "f32[m]", "y[m] = sum(n, x[m, n])", true);
rowwise!(SUM_F16, "sum", "f16", "f32[m]", "y[m] = sum(n, x[m, n])", true);
rowwise!(SUM_BF16, "sum", "bf16", "f32[m]", "y[m] = sum(n, x[m, n])", true);
rowwise!(
    VARIANCE_F32,
    "variance",
    "f32",
    "f32[m]",
    "mu[m] = mean(n, x[m, n]); y[m] = mean(n, (x[m, n] - mu[m]) * (x[m, n] - mu[m]))",
    false
);
norm!(NORM_F32, "f32");
norm!(NORM_F16, "f16");
norm!(NORM_BF16, "bf16");
contraction!(GEMM_F32, "f32", "f32");
contraction!(GEMM_F16, "f16", "f16");
contraction!(GEMM_BF16, "bf16", "f32");
contraction!(GEMM_F8, "f8e4m3", "bf16");
contraction!(GEMM_I8, "i8", "i32");

pub(crate) static SCAN_F32: Subject = subject(
    "cumsum f32",
    r#"
axes = { m = "1..=512", c = "1..=4096", t = "c" }
inputs = { x = "f32[m, c]" }
outputs = { y = "f32[m, c]" }
math = "y[m, c] = sum(t <= c, x[m, t])"
"#,
    false,
);

/// A product as tensor cores make it: rows that TMA takes, results in the inputs' type.
pub(crate) static GEMM_RING: Subject = subject(
    "gemm bf16, for rings",
    r#"
axes = { m = "1..=512", n = { range = "8..=512", multiple-of = 8 }, k = { range = "8..=2048", multiple-of = 8 } }
inputs = { x = "bf16[m, k]", w = "bf16[n, k]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
"#,
    true,
);

/// Long sums, whose bound forgives much on dense inputs.
pub(crate) static GEMM_LONG: Subject = subject(
    "gemm f32, long",
    r#"
axes = { m = "1..=64", n = "1..=64", k = 8192 }
inputs = { x = "f32[m, k]", w = "f32[n, k]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
"#,
    true,
);

/// Rows of five, eight apart.
pub(crate) static PADDED: Subject = subject(
    "copy to padded rows",
    r#"
axes = { m = "1..=4096", n = 5 }
inputs = { x = "f32[m, n]" }
outputs = { y = { type = "f32[m, n]", strides = [8, 1] } }
math = "y[m, n] = x[m, n]"
"#,
    false,
);

/// Rows of an inout, where distinct positions say.
pub(crate) static SCATTER: Subject = subject(
    "scatter",
    r#"
axes = { b = "1..=512", t = 600 }
inputs = { pos = { type = "i32[b]", range = "0..t", unique = true }, x = "f32[b]" }
inout = { c = "f32[t]" }
math = "c[pos[b]] = c[pos[b]] + x[b]"
"#,
    false,
);

/// Every spec.
pub(crate) static ALL: [&Subject; 24] = [
    &SILU_F32,
    &SILU_F16,
    &SILU_BF16,
    &SILU_OF_WEIGHTS,
    &SOFTMAX_F32,
    &SOFTMAX_F16,
    &SOFTMAX_BF16,
    &SUM_F32,
    &SUM_F16,
    &SUM_BF16,
    &VARIANCE_F32,
    &NORM_F32,
    &NORM_F16,
    &NORM_BF16,
    &GEMM_F32,
    &GEMM_F16,
    &GEMM_BF16,
    &GEMM_F8,
    &GEMM_I8,
    &SCAN_F32,
    &GEMM_RING,
    &GEMM_LONG,
    &PADDED,
    &SCATTER,
];

impl Subject {
    pub(crate) fn plan(&self) -> Plan {
        let text = format!("edition = 1\n[kernels.k]\n{}", self.table);
        let mut kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        Plan::new(&kernels.remove(0), &Target::parse("sm_90a").expect("a target"))
    }

    pub(crate) fn reference(&self) -> String {
        print::reference::print(&self.plan())
    }

    /// A session of small shapes, with settings adjusted.
    pub(crate) fn judge(&self, adjust: impl FnOnce(&mut Settings)) -> Judge {
        let plan = self.plan();
        let (spec, schedule) = (plan.spec.clone(), plan.schedule.clone());
        let price = move |axes: &[i64]| {
            let cost = cost(&spec, &schedule, axes);
            cost.flops.max(cost.bytes) as u64
        };
        let question = Question {
            spec: plan.spec.clone(),
            reference: fixtures::reference_of(&self.reference()),
            exact_integers: if self.exact { ExactIntegers::Wide } else { ExactIntegers::None },
            cost: Box::new(price),
            tiles: vec![16],
            scalar: None,
        };
        let mut settings = Settings::new(bench::workers(), 0x5eed);
        settings.cost_cap = COST;
        settings.shapes_most = 9;
        settings.repeats = (20, 100);
        settings.device = Some(OnDevice { kernels: fixtures::gate_kernels(), reference: None, totals: None });
        settings.floor = roofline::floor(&plan).map(|floor| Floor(std::rc::Rc::from(floor)));
        settings.baseline =
            Some(Baseline { candidate: super::honest::naive(self), only_sums: only_sums(&plan) });
        adjust(&mut settings);
        Judge::new(question, settings).expect("a session")
    }
}

/// What a shape may cost in operations or bytes.
const COST: u64 = 2_000_000;
