//! The kernels of the corpus, by short names; two that no other test needs.

use cutegen_build::plan::sums::ExactIntegers;
use cutegen_spec::tensor::Role;

use crate::kernels::{self, Kernel};
use crate::memory;

pub(super) type Subject = fn() -> &'static Kernel;

pub(super) const SILU: Subject = || &kernels::SILU_MUL;
pub(super) const NORM: Subject = || &kernels::RMS_NORM;
pub(super) const GEMM: Subject = || &kernels::GEMM;
pub(super) const GEMM_F32: Subject = || &kernels::GEMM_F32;
pub(super) const GEMM_BIAS: Subject = || &kernels::GEMM_BIAS;
pub(super) const VARIANCE: Subject = || &kernels::VARIANCE;
pub(super) const PADDED: Subject = || &memory::PADDED;
pub(super) const NIBBLES: Subject = || &memory::NIBBLES;
pub(super) const SCATTER: Subject = || &memory::SCATTER;
pub(super) const LARGEST: Subject = || &memory::ANY_LARGEST;
pub(super) const SOFTMAX: Subject = || &SOFTMAX_F32;
pub(super) const REVERSED: Subject = || &ADD_REVERSED;

static SOFTMAX_F32: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=512", n = "1..=512" }
inputs = { x = "f32[m, n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = softmax(n, x[m, n])"
"#,
    adjust: |_| {},
    reference: r#"
extern "C" void cutegen_reference(void** p) {
  const float* x = PTR(float, 0);
  int64_t m = VAL(int64_t, 1), n = VAL(int64_t, 2);
  double *v = PTR(double, 3), *b = PTR(double, 4);
  for (int64_t i = 0; i < m; ++i) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; ++j) most = x[i * n + j] > most || x[i * n + j] != x[i * n + j] ? x[i * n + j] : most;
    for (int64_t j = 0; j < n; ++j) sum += exp(x[i * n + j] - most);
    for (int64_t j = 0; j < n; ++j) {
      double d = x[i * n + j] - most;
      v[i * n + j] = exp(d) / sum;
      b[i * n + j] = v[i * n + j] * (n + 16 + 2 * fabs(d)) * U32 + 0x1p-140;
    }
  }
}
"#,
    arguments: r#"
#define X PTR(const float, 0)
#define Y PTR(float, 1)
#define M VAL(int64_t, 2)
#define N VAL(int64_t, 3)
#define ROWS for (int64_t i = 0; i < M; ++i)
#define ROW(e) for (int64_t j = 0; j < N; ++j) { float x = X[i * N + j]; (void)x; e; }
"#,
    honest:
        "ROWS { float top = -INFINITY, s = 0; ROW(top = x > top || x != x ? x : top) ROW(s += expf(x - top))
      ROW(Y[i * N + j] = expf(x - top) / s) }",
    args: "ptr(t0) ptr(t1) axis(a0) axis(a1)",
    exact_integers: ExactIntegers::None,
    cost_cap: 20_000,
};

/// `c[i] += c[n - 1 - i]` of what `c` held before: right in place only for who reads it all first.
static ADD_REVERSED: Kernel = Kernel {
    spec: r#"
axes = { n = "1..=9999" }
inputs = { x = "f32[n]" }
outputs = { c = "f32[n]" }
math = "c[n] = x[n]"
"#,
    adjust: |spec| spec.tensors[1].role = Role::Inout,
    reference: r#"
extern "C" void cutegen_reference(void** p) {
  const float *x = PTR(float, 0), *c = PTR(float, 1);
  double *v = PTR(double, 3), *b = PTR(double, 4);
  int64_t n = VAL(int64_t, 2);
  for (int64_t i = 0; i < n; ++i) {
    v[i] = double(c[n - 1 - i]) + x[i];
    b[i] = fabs(v[i]) * U32 + ETA32;
  }
}
"#,
    arguments: r#"
#define X PTR(const float, 0)
#define C PTR(float, 1)
#define N VAL(int64_t, 2)
"#,
    honest: "for (int64_t i = 0, j = N - 1; i <= j; ++i, --j) { float a = C[j] + X[i], b = C[i] + X[j]; C[i] = a; C[j] = b; }",
    args: "ptr(t0) ptr(t1) axis(a0)",
    exact_integers: ExactIntegers::None,
    cost_cap: 20_000,
};
