//! The kernels that the gate is tried on: spec, hand-written reference with its bound, and the arguments' names.

use cutegen_build::plan::sums::ExactIntegers;
use cutegen_spec::spec::KernelSpec;

use crate::bodies::{HONEST_GEMM, HONEST_RMS_NORM, HONEST_SILU, HONEST_VARIANCE};

/// One kernel.
pub(crate) struct Kernel {
    /// The table of its spec.
    pub(crate) spec: &'static str,
    /// What its spec has that the table does not say.
    pub(crate) adjust: fn(&mut KernelSpec),
    /// Source of its reference.
    pub(crate) reference: &'static str,
    /// Macros that name a candidate's arguments, in the order of `args`.
    pub(crate) arguments: &'static str,
    /// A body that does what is asked.
    pub(crate) honest: &'static str,
    /// Its usual contract's arguments.
    pub(crate) args: &'static str,
    pub(crate) exact_integers: ExactIntegers,
    pub(crate) cost_cap: u64,
}

/// Conversions and argument access, for references and candidates.
pub(crate) const PRELUDE: &str = r#"
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
typedef uint16_t bf16;
static inline float up(bf16 h) { uint32_t u = uint32_t(h) << 16; float f; memcpy(&f, &u, 4); return f; }
static inline bf16 down(float f) {
  uint32_t u; memcpy(&u, &f, 4);
  if (f != f) return bf16(u >> 16 | 64);
  return bf16((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
#define PTR(T, i) (*(T**)p[i])
#define VAL(T, i) (*(T*)p[i])
// What an f32 may not hold in some order is not judged; NaN and infinities of the inputs are.
static inline double held(double size, double bound) { return !std::isfinite(size) ? 0 : size > 0x1.fffffep127 ? INFINITY : bound; }
static const double U16 = 0x1p-8, ETA16 = 0x1p-134, U32 = 0x1p-24, ETA32 = 0x1p-150;
"#;

pub(crate) static SILU_MUL: Kernel = SILU;

/// The same with a workload that is larger than a full pass goes.
pub(crate) static LARGE_SILU_MUL: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=4096", n = "1..=4096" }
inputs = { x = "bf16[m, n]", g = "bf16[m, n]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = silu(g[m, n]) * x[m, n]"
workloads = [{ m = 512, n = 512 }]
"#,
    ..SILU
};

/// The reference of `silu(g) * x`, with this bound.
macro_rules! silu_reference {
    ($bound:literal) => {
        concat!(
            r#"
extern "C" void cutegen_reference(void** p) {
  const bf16 *x = PTR(bf16, 0), *g = PTR(bf16, 1);
  double *v = PTR(double, 4), *b = PTR(double, 5);
  int64_t size = VAL(int64_t, 2) * VAL(int64_t, 3);
  for (int64_t i = 0; i < size; ++i) {
    double a = up(g[i]), c = up(x[i]), e = exp(-fabs(a));
    double s = a >= 0 ? a / (1 + e) : a * e / (1 + e);
    v[i] = s * c;
    b[i] = held(fabs(v[i]), "#,
            $bound,
            r#");
  }
}
"#
        )
    };
}

/// The same with bounds of half of a value.
pub(crate) static TOLERANT_SILU_MUL: Kernel =
    Kernel { reference: silu_reference!("0.5 * fabs(v[i]) + ETA16"), ..SILU };

const SILU: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=4096", n = "1..=4096" }
inputs = { x = "bf16[m, n]", g = "bf16[m, n]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = silu(g[m, n]) * x[m, n]"
"#,
    adjust: |_| {},
    reference: silu_reference!(
        "fabs(v[i]) * (U16 + (8 + 2 * fabs(a)) * U32) + ETA16 + 0x1p-149 * (1 + fabs(a)) * (1 + fabs(c))"
    ),
    arguments: r#"
#define X PTR(const bf16, 0)
#define G PTR(const bf16, 1)
#define Y PTR(bf16, 2)
#define SIZE (VAL(int64_t, 3) * VAL(int64_t, 4))
static inline bf16 one(bf16 x, bf16 g) {
  float a = up(g), e = expf(-fabsf(a));
  return down((a >= 0 ? a / (1 + e) : a * e / (1 + e)) * up(x));
}
"#,
    honest: HONEST_SILU,
    args: "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1)",
    exact_integers: ExactIntegers::None,
    cost_cap: 20_000,
};

pub(crate) static RMS_NORM: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=512", n = "1..=4096" }
inputs = { x = "bf16[m, n]", w = "bf16[n]" }
outputs = { y = "bf16[m, n]" }
scalars = { eps = "f32" }
math = "y[m, n] = rms_norm(n, x[m, n], eps) * w[n]"
"#,
    adjust: |_| {},
    reference: r#"
extern "C" void cutegen_reference(void** p) {
  const bf16 *x = PTR(bf16, 0), *w = PTR(bf16, 1);
  int64_t m = VAL(int64_t, 2), n = VAL(int64_t, 3);
  double eps = VAL(float, 4), *v = PTR(double, 5), *b = PTR(double, 6), scale = VAL(double, 9);
  for (int64_t i = 0; i < m; ++i) {
    double sum = 0, terms = 0;
    for (int64_t j = 0; j < n; ++j) { double a = up(x[i * n + j]); sum += a * a; terms += a != 0; }
    double r = 1 / sqrt(sum / n + eps), u = (2 * sqrt(terms) + terms / 8) * U32 * scale / 2 + 8 * U32;
    for (int64_t j = 0; j < n; ++j) {
      double value = up(x[i * n + j]) * r * up(w[j]);
      v[i * n + j] = value;
      b[i * n + j] = held(sum, fabs(value) * (U16 + u * (1 + U16)) + ETA16);
    }
  }
}
"#,
    arguments: r#"
#define X PTR(const bf16, 0)
#define W PTR(const bf16, 1)
#define Y PTR(bf16, 2)
#define M VAL(int64_t, 3)
#define N VAL(int64_t, 4)
#define EPS VAL(float, 5)
"#,
    honest: HONEST_RMS_NORM,
    args: "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) scalar(s0)",
    exact_integers: ExactIntegers::Wide,
    cost_cap: 20_000,
};

const GEMM_REFERENCE: &str = r#"
extern "C" void cutegen_reference(void** p) {
  const T *x = PTR(T, 0), *w = PTR(T, 1);
  int64_t m = VAL(int64_t, 2), n = VAL(int64_t, 3), k = VAL(int64_t, 4);
  double *v = PTR(double, 5), *b = PTR(double, 6), scale = VAL(double, 9);
  for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j) {
    double sum = 0, size = 0, terms = 0;
    for (int64_t l = 0; l < k; ++l) {
      double t = double(UP(x[i * k + l])) * double(UP(w[j * k + l]));
      sum += t; size += fabs(t); terms += t != 0;
    }
    v[i * n + j] = sum;
    b[i * n + j] = held(size, U32 * fabs(sum) + (1 + terms) * ETA32 + scale * (2 * sqrt(terms) + terms / 8) * U32 * size);
  }
}
"#;

const GEMM_ARGUMENTS: &str = r#"
#define X PTR(const T, 0)
#define W PTR(const T, 1)
#define Y PTR(float, 2)
#define M VAL(int64_t, 3)
#define N VAL(int64_t, 4)
#define K VAL(int64_t, 5)
#define EACH for (int64_t i = 0; i < M; ++i) for (int64_t j = 0; j < N; ++j)
#define A(l) UP(X[i * K + (l)])
#define B(l) UP(W[j * K + (l)])
#define OUT Y[i * N + j]
"#;

const BF16: &str = "typedef bf16 T;\n#define UP up\n";
const F32: &str = "typedef float T;\n#define UP\n";

const fn gemm(reference: &'static str, arguments: &'static str, spec: &'static str) -> Kernel {
    let args = "ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) axis(a2)";
    let honest = HONEST_GEMM;
    Kernel {
        spec,
        adjust: |_| {},
        reference,
        arguments,
        honest,
        args,
        exact_integers: ExactIntegers::Wide,
        cost_cap: 400_000,
    }
}

/// `y = x w^T`, bf16 in, f32 out.
pub(crate) static GEMM: std::sync::LazyLock<Kernel> = std::sync::LazyLock::new(|| {
    gemm(
        leak(BF16, GEMM_REFERENCE),
        leak(BF16, GEMM_ARGUMENTS),
        r#"
axes = { m = "1..=512", n = "1..=512", k = "1..=512" }
inputs = { x = "bf16[m, k]", w = "bf16[n, k]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
"#,
    )
});

/// The same in f32, with long sums.
pub(crate) static GEMM_F32: std::sync::LazyLock<Kernel> = std::sync::LazyLock::new(|| {
    gemm(
        leak(F32, GEMM_REFERENCE),
        leak(F32, GEMM_ARGUMENTS),
        r#"
axes = { m = "1..=512", n = "1..=512", k = 8192 }
inputs = { x = "f32[m, k]", w = "f32[n, k]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
"#,
    )
});

/// The same with sums of 8.
pub(crate) static GEMM_8: std::sync::LazyLock<Kernel> = std::sync::LazyLock::new(|| {
    let kernel = gemm(
        leak(F32, GEMM_REFERENCE),
        leak(F32, GEMM_ARGUMENTS),
        r#"
axes = { m = "1..=512", n = "1..=512", k = 8 }
inputs = { x = "f32[m, k]", w = "f32[n, k]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
"#,
    );
    Kernel { cost_cap: 40_000, ..kernel }
});

/// A bias and a maximum behind sums of 32768; with exact integers as the gate has them, or without.
fn gemm_bias(exact_integers: ExactIntegers) -> Kernel {
    const SPEC: &str = r#"
axes = { m = "1..=64", n = "1..=8", k = 32768 }
inputs = { x = "f32[m, k]", w = "f32[n, k]", b = "f32[n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = relu(sum(k, x[m, k] * w[n, k]) + b[n])"
"#;
    const REFERENCE: &str = r#"
extern "C" void cutegen_reference(void** p) {
  const float *x = PTR(float, 0), *w = PTR(float, 1), *c = PTR(float, 2);
  int64_t m = VAL(int64_t, 3), n = VAL(int64_t, 4), k = VAL(int64_t, 5);
  double *v = PTR(double, 6), *b = PTR(double, 7), scale = VAL(double, 10);
  for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j) {
    double sum = 0, size = 0, terms = 0;
    for (int64_t l = 0; l < k; ++l) {
      double t = double(x[i * k + l]) * double(w[j * k + l]);
      sum += t; size += fabs(t); terms += t != 0;
    }
    sum += c[j];
    v[i * n + j] = sum < 0 ? 0 : sum;
    size += fabs(c[j]);
    b[i * n + j] = held(size, U32 * fabs(sum) + (1 + terms) * ETA32 + scale * (2 * sqrt(terms) + terms / 8) * U32 * size);
  }
}
"#;
    const ARGUMENTS: &str = r#"
#define X PTR(const float, 0)
#define W PTR(const float, 1)
#define C PTR(const float, 2)
#define Y PTR(float, 3)
#define M VAL(int64_t, 4)
#define N VAL(int64_t, 5)
#define K VAL(int64_t, 6)
#define EACH for (int64_t i = 0; i < M; ++i) for (int64_t j = 0; j < N; ++j)
#define TERM(l) (X[i * K + (l)] * W[j * K + (l)])
#define OUT(s) { float v = (s) + C[j]; Y[i * N + j] = v < 0 ? 0 : v; }
"#;
    Kernel {
        spec: SPEC,
        adjust: |_| {},
        reference: REFERENCE,
        arguments: ARGUMENTS,
        honest: "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += TERM(l); OUT(s) }",
        args: "ptr(t0) ptr(t1) ptr(t2) ptr(t3) axis(a0) axis(a1) axis(a2)",
        exact_integers,
        cost_cap: 2_000_000,
    }
}

pub(crate) static GEMM_BIAS: std::sync::LazyLock<Kernel> =
    std::sync::LazyLock::new(|| gemm_bias(ExactIntegers::Wide));
pub(crate) static GEMM_BIAS_LOOSE: std::sync::LazyLock<Kernel> =
    std::sync::LazyLock::new(|| gemm_bias(ExactIntegers::None));

pub(crate) static VARIANCE: Kernel = Kernel {
    spec: r#"
axes = { m = "1..=512", n = "16..=512" }
inputs = { x = "f32[m, n]" }
outputs = { v = "f32[m]" }
math = "mu[m] = mean(n, x[m, n]); v[m] = mean(n, (x[m, n] - mu[m]) * (x[m, n] - mu[m]))"
"#,
    adjust: |_| {},
    reference: r#"
extern "C" void cutegen_reference(void** p) {
  const float* x = PTR(float, 0);
  int64_t m = VAL(int64_t, 1), n = VAL(int64_t, 2);
  double *v = PTR(double, 3), *b = PTR(double, 4);
  double u = (n + 2) * U32; // equal terms round alike: the statistical n / 8 would reject an honest sum in sequence
  for (int64_t i = 0; i < m; ++i) {
    double sum = 0, size = 0, var = 0, error = 0;
    for (int64_t j = 0; j < n; ++j) { sum += x[i * n + j]; size += fabs(x[i * n + j]); }
    double mean = sum / n, em = u * size / n;
    for (int64_t j = 0; j < n; ++j) {
      double d = x[i * n + j] - mean, ed = em + U32 * fabs(d);
      var += d * d; error += 2 * fabs(d) * ed + ed * ed;
    }
    v[i] = var / n;
    b[i] = held(size > var ? size : var, error / n + (u + 2 * U32) * var / n + ETA32);
  }
}
"#,
    arguments: r#"
#define X PTR(const float, 0)
#define V PTR(float, 1)
#define M VAL(int64_t, 2)
#define N VAL(int64_t, 3)
"#,
    honest: HONEST_VARIANCE,
    args: "ptr(t0) ptr(t1) axis(a0) axis(a1)",
    exact_integers: ExactIntegers::None,
    cost_cap: 20_000,
};

fn leak(head: &str, tail: &str) -> &'static str {
    Box::leak(format!("{head}{tail}").into_boxed_str())
}
