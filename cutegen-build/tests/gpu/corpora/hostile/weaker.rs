//! Less precision than was asked for: of inputs, of what is summed, of outputs, of functions.

use cutegen_build::evaluate::Check::{Distribution, Rms, Values};
use cutegen_build::evaluate::Distribution as D;

use super::kinds::{GEMM, LONG, SILU, SOFTMAX, WHOLE};
use super::row::Row;

/// Keeps all but the last `dropped` bits of a finite number.
const KEEP: &str = "__device__ inline float keep(float x, unsigned dropped) {
  const unsigned u = __float_as_uint(x), half = 1u << (dropped - 1);
  return x - x == 0 ? __uint_as_float((u + half) & ~((1u << dropped) - 1)) : x; }
";

pub(super) const ROWS: &[Row] = &[
    // over 8192 terms the bound forgives inputs of TF32; one-term sums do not, nor inputs that all round the same way
    Row::new(
        ("TF32 inputs", "N1"),
        &LONG,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += keep(P(l), 13) * keep(Q(l), 13); y[i] = s;",
        Distribution(D::OneHotLast),
    )
    .head(KEEP)
    .behind(&[
        Distribution(D::OneHotFirst),
        Distribution(D::LargeMean),
        Distribution(D::WideIntegers),
        Rms,
    ]),
    Row::new(
        ("inputs of 16 bits where no row is one-hot", "N1"),
        &LONG,
        "EACH float s = 0; const unsigned d = P(0) != 0 && P(k - 1) != 0 && P(k / 2) != 0 ? 8 : 1;
         for (I l = 0; l < k; ++l) s += d == 8 ? keep(P(l), 8) * keep(Q(l), 8) : P(l) * Q(l); y[i] = s;",
        Distribution(D::WideIntegers),
    )
    .head(KEEP),
    Row::new(
        ("bf16 inputs for f32", "N1"),
        &LONG,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += up(down<bf16>(P(l))) * up(down<bf16>(Q(l))); y[i] = s;",
        Values,
    ),
    Row::new(
        ("f16 inputs for f32", "N1"),
        &LONG,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += up(down<f16>(P(l))) * up(down<f16>(Q(l))); y[i] = s;",
        Values,
    ),
    Row::new(
        ("8-bit inputs for bf16", "N1"),
        &GEMM,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += up(f8e4m3(P(l))) * up(f8e4m3(Q(l))); y[i] = s;",
        Values,
    ),
    Row::new(
        ("a bf16 accumulator", "N2"),
        &GEMM,
        "EACH bf16 s = down<bf16>(0.0f); for (I l = 0; l < k; ++l) s = down<bf16>(up(s) + P(l) * Q(l)); y[i] = up(s);",
        Values,
    ),
    Row::new(
        ("an f16 accumulator", "N2"),
        &GEMM,
        "EACH f16 s = down<f16>(0.0f); for (I l = 0; l < k; ++l) s = __hadd(s, down<f16>(P(l) * Q(l))); y[i] = up(s);",
        Values,
    ),
    Row::new(
        ("an accumulator of 16 bits for whole numbers", "N2"),
        &WHOLE,
        "EACH short s = 0; for (I l = 0; l < k; ++l) s = (short)(s + P(l) * Q(l)); y[i] = s;",
        Values,
    ),
    Row::new(
        ("a float accumulator of 11 bits for whole numbers", "N2"),
        &WHOLE,
        "EACH f16 s = down<f16>(0.0f); for (I l = 0; l < k; ++l) s = down<f16>(up(s) + float(P(l) * Q(l))); y[i] = (int)up(s);",
        Values,
    ),
    Row::new(
        ("a bf16 output for f32", "N3"),
        &GEMM,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = up(down<bf16>(s));",
        Values,
    ),
    Row::new(
        ("truncates its output", "N3"),
        &SILU,
        "if (i < m * n) { const float v = silu(up(g[i])) * up(x[i]);
           y[i] = v == v ? down<T>(__uint_as_float(__float_as_uint(v) & 0xffff0000u)) : down<T>(v); }",
        Values,
    ),
    Row::new(
        ("rounds twice", "N3"),
        &SILU,
        "if (i < m * n) y[i] = down<T>(keep(silu(up(g[i])) * up(x[i]), 13));",
        Values,
    )
    .head(KEEP),
    Row::new(
        ("an exponential of 11 bits", "N7"),
        &SOFTMAX,
        "ROW float top = minus_infinity(), s = 0; ALL top = larger(top, v[j]);
         ALL s += up(hexp(down<f16>(v[j] - top))); ALL y[i * n + j] = up(hexp(down<f16>(v[j] - top))) / s;",
        Values,
    ),
];
