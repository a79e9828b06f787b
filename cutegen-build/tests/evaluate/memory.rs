//! Memory that is more than dense floats: gaps, 4-bit elements, inouts that are assigned in part, integer inputs with
//! a declared range, and elements with several right values.

use cutegen_build::evaluate::{Check, Checks, Outcome};
use cutegen_build::plan::sums::ExactIntegers;
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, ValueRange};

use crate::Test;
use crate::bench::Bench;
use crate::kernels::Kernel;

pub(crate) const TESTS: &[Test] = &[
    ("memory::gaps_of_an_output", gaps_of_an_output),
    ("memory::four_bit_elements", four_bit_elements),
    ("memory::scattered_rows_of_an_inout", scattered_rows_of_an_inout),
    ("memory::several_right_values", several_right_values),
];

/// Rows of five, eight apart.
pub(crate) static PADDED: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=512", n = 5 }
inputs = { x = "f32[m, n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = x[m, n]"
"#,
    adjust: |spec| spec.tensors[1].strides = Some(vec![IntExpr::Const(8), IntExpr::Const(1)]),
    reference: r#"
extern "C" void cutegen_reference(void** p) {
  const float* x = PTR(float, 0);
  double *v = PTR(double, 3), *b = PTR(double, 4);
  for (int64_t i = 0; i < VAL(int64_t, 1); ++i)
    for (int64_t j = 0; j < 5; ++j) v[8 * i + j] = x[5 * i + j], b[8 * i + j] = 0;
}
"#,
    arguments: r#"
#define X PTR(const float, 0)
#define Y PTR(float, 1)
#define M VAL(int64_t, 2)
#define ROWS for (int64_t i = 0; i < M; ++i)
"#,
    honest: "ROWS for (int j = 0; j < 5; ++j) Y[8 * i + j] = X[5 * i + j];",
    args: "ptr(t0) ptr(t1) axis(a0) axis(a1)",
    exact_integers: ExactIntegers::None,
    cost_cap: 20_000,
};

fn gaps_of_an_output() {
    let bench = Bench::new(&PADDED);
    let honest = PADDED.honest;
    let candidate = bench.candidate(honest);
    bench.passes(&candidate, Checks::default());
    // gaps keep the poison of their launch, which timed and untimed launches do not share
    let timed = bench.judge(Checks::default()).compare(&candidate, &candidate, &[33, 5]);
    assert!(matches!(timed, Ok(Ok(_))), "{timed:?}");
    let short = bench.candidate("ROWS for (int j = 0; j < 4; ++j) Y[8 * i + j] = X[5 * i + j];");
    assert!(
        matches!(bench.full(&short, Checks::default()), Outcome::Incorrect(f) if f.check() == Check::Poison)
    );
}

/// Signed nibbles, clamped to what unsigned ones hold; an odd number of them shares no byte with a neighbour.
pub(crate) static NIBBLES: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=999" }
inputs = { x = "f32[m]" }
outputs = { y = "f32[m]" }
math = "y[m] = x[m]"
"#,
    adjust: |spec| (spec.tensors[0].dtype, spec.tensors[1].dtype) = (DType::I4, DType::U4),
    reference: r#"
extern "C" void cutegen_reference(void** p) {
  const unsigned char* x = PTR(unsigned char, 0);
  double *v = PTR(double, 2), *b = PTR(double, 3);
  for (int64_t i = 0; i < VAL(int64_t, 1); ++i) {
    int nibble = x[i / 2] >> (4 * (i % 2)) & 15;
    v[i] = nibble > 7 ? 0 : nibble, b[i] = 0;
  }
}
"#,
    arguments: r#"
#define X PTR(const unsigned char, 0)
#define Y PTR(unsigned char, 1)
#define M VAL(int64_t, 2)
static inline int one(int x) { return x > 7 ? 0 : x; }
"#,
    honest: "for (int64_t i = 0; i < (M + 1) / 2; ++i) Y[i] = one(X[i] & 15) | one(X[i] >> 4) << 4;",
    args: "ptr(t0) ptr(t1) axis(a0)",
    exact_integers: ExactIntegers::None,
    cost_cap: 20_000,
};

fn four_bit_elements() {
    let bench = Bench::new(&NIBBLES);
    bench.passes(&bench.candidate(NIBBLES.honest), Checks::default());
    let low = "for (int64_t i = 0; i < M / 2; ++i) Y[i] = one(X[i] & 15) | one(X[i] >> 4) << 4;";
    let without_last = bench.full(&bench.candidate(low), Checks::default());
    assert!(matches!(without_last, Outcome::Incorrect(f) if f.check() == Check::Poison));
}

/// Rows written where distinct positions say.
pub(crate) static SCATTER: Kernel = Kernel {
    spec: r#"
axes = { b = "1..=512", t = 600 }
inputs = { pos = "f32[b]", x = "f32[b]" }
outputs = { c = "f32[t]" }
math = "c[t] = sum(b, pos[b] * x[b])"
"#,
    adjust: |spec: &mut KernelSpec| {
        spec.tensors[0].dtype = DType::I32;
        spec.tensors[0].range = Some(ValueRange { from: IntExpr::Const(0), to: IntExpr::Axis(1) });
        spec.tensors[0].unique = true;
        spec.tensors[2].role = Role::Inout;
    },
    reference: r#"
extern "C" void cutegen_reference(void** p) {
  const int* at = PTR(int, 0);
  const float *x = PTR(float, 1), *c = PTR(float, 2);
  double *v = PTR(double, 5), *b = PTR(double, 6);
  for (int64_t i = 0; i < VAL(int64_t, 3); ++i) v[at[i]] = double(c[at[i]]) + x[i], b[at[i]] = fabs(v[at[i]]) * U32 + ETA32;
}
"#,
    arguments: r#"
#define AT PTR(const int, 0)
#define X PTR(const float, 1)
#define C PTR(float, 2)
#define B VAL(int64_t, 3)
"#,
    honest: "for (int64_t i = 0; i < B; ++i) C[AT[i]] += X[i];",
    args: "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1)",
    exact_integers: ExactIntegers::None,
    cost_cap: 400_000,
};

fn scattered_rows_of_an_inout() {
    let bench = Bench::new(&SCATTER);
    let honest = SCATTER.honest;
    bench.passes(&bench.candidate(honest), Checks::default());
}

/// Any index of a largest element is right.
pub(crate) static ANY_LARGEST: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=64", n = "1..=512" }
inputs = { x = "f32[m, n]" }
outputs = { y = "f32[m]" }
math = "y[m] = max(n, x[m, n])"
"#,
    adjust: |spec| (spec.tensors[0].dtype, spec.tensors[1].dtype) = (DType::I8, DType::I64),
    reference: r#"
typedef void (*Also)(void*, int64_t, double);
extern "C" void cutegen_reference(void** p) {
  const signed char* x = PTR(signed char, 0);
  const int64_t n = VAL(int64_t, 2);
  double *v = PTR(double, 3), *b = PTR(double, 4);
  for (int64_t i = 0; i < VAL(int64_t, 1); ++i) {
    int64_t best = 0;
    for (int64_t j = 1; j < n; ++j) if (x[i * n + j] > x[i * n + best]) best = j;
    for (int64_t j = best + 1; j < n; ++j) if (x[i * n + j] == x[i * n + best]) VAL(Also, 5)(VAL(void*, 6), i, j);
    v[i] = best, b[i] = 0;
  }
}
"#,
    arguments: r#"
#define X PTR(const signed char, 0)
#define Y PTR(int64_t, 1)
#define N VAL(int64_t, 3)
#define ROWS for (int64_t i = 0; i < VAL(int64_t, 2); ++i)
"#,
    honest: "ROWS { int64_t k = 0; for (int64_t j = 1; j < N; ++j) if (X[i * N + j] > X[i * N + k]) k = j; Y[i] = k; }",
    args: "ptr(t0) ptr(t1) axis(a0) axis(a1)",
    exact_integers: ExactIntegers::None,
    cost_cap: 20_000,
};

fn several_right_values() {
    let bench = Bench::new(&ANY_LARGEST);
    let largest = |better: &str| {
        format!(
            "ROWS {{ int64_t k = 0; for (int64_t j = 1; j < N; ++j) if (X[i * N + j] {better} X[i * N + k]) k = j; Y[i] = k; }}"
        )
    };
    bench.passes(&bench.candidate(&largest(">")), Checks::default());
    bench.passes(&bench.candidate(&largest(">=")), Checks::default());
}
