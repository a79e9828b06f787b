//! Wrong numbers: terms left out, formulas that break, special values lost.

use cutegen_build::evaluate::Check::{Distribution, Values};
use cutegen_build::evaluate::Distribution as D;

use super::kinds::{GEMM, NORM, PADDED, SILU, SOFTMAX, VARIANCE};
use super::row::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(
        ("drops the last k", "N4"),
        &GEMM,
        "EACH float s = 0; for (I l = 0; l + 1 < k; ++l) s += P(l) * Q(l); y[i] = s;",
        Values,
    ),
    Row::new(
        ("drops the first k", "N4"),
        &GEMM,
        "EACH float s = 0; for (I l = 1; l < k; ++l) s += P(l) * Q(l); y[i] = s;",
        Values,
    ),
    Row::new(
        ("takes the last k twice", "N4"),
        &GEMM,
        "EACH float s = P(k - 1) * Q(k - 1); for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = s;",
        Values,
    ),
    Row::new(
        ("samples every second k", "N4"),
        &GEMM,
        "EACH float s = 0; for (I l = 0; l < k; l += 2) s += 2 * P(l) * Q(l); y[i] = s;",
        Values,
    ),
    Row::new(
        ("swallows NaN", "N5"),
        &GEMM,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = s == s ? s : 0;",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("makes infinity NaN", "N5"),
        &GEMM,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = s + (s - s);",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("makes infinity the largest number", "N5"),
        &PADDED,
        "if (i < m * n) y[i / n * 8 + i % n] = fabsf(x[i]) > 3.4e38f ? copysignf(3.4e38f, x[i]) : x[i];",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("flushes subnormals", "N6"),
        &PADDED,
        "if (i < m * n) { float v; asm(\"mul.ftz.f32 %0, %1, 0f3f800000;\" : \"=f\"(v) : \"f\"(x[i])); y[i / n * 8 + i % n] = v; }",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("softmax without the maximum", "N9"),
        &SOFTMAX,
        "ROW float top = 0, s = 0; bool odd = false; ALL odd = odd || v[j] - v[j] != 0;
         if (odd) { top = minus_infinity(); ALL top = larger(top, v[j]); }
         ALL s += expf(v[j] - top); ALL y[i * n + j] = expf(v[j] - top) / s;",
        Distribution(D::LargeMean),
    )
    .behind(&[Distribution(D::Large), Distribution(D::LogUniform)]),
    Row::new(
        ("variance by squares", "N10"),
        &VARIANCE,
        "ROW float s = 0, q = 0; ALL { s += v[j]; q += v[j] * v[j]; } y[i] = q / n - (s / n) * (s / n);",
        Distribution(D::LargeMean),
    )
    .behind(&[Distribution(D::NearOne), Distribution(D::Uniform), Distribution(D::LogUniform), Distribution(D::RowShapes)]),
    Row::new(
        ("the unbiased variance", "N10"),
        &VARIANCE,
        "ROW float s = 0, q = 0; ALL s += v[j]; s /= n; ALL q += (v[j] - s) * (v[j] - s); y[i] = q / (n - 1);",
        Values,
    ),
    Row::new(
        ("no epsilon", "N9"),
        &NORM,
        "if (i >= m) return; const bf16* v = x + i * n; float s = 0; ALL s += up(v[j]) * up(v[j]);
         const float r = rsqrtf(s / n); ALL y[i * n + j] = down<bf16>(up(v[j]) * r * up(w[j]));",
        Values,
    ),
    Row::new(
        ("a gain of 1 + 2^-7", "N3"),
        &SILU,
        "if (i < m * n) y[i] = down<T>(up(one(x[i], g[i])) * (1 + 0x1p-7f));",
        Values,
    ),
    Row::new(
        ("one element 3 % too large", "A5"),
        &GEMM,
        "EACH float s = 0; for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = i == m * n / 2 ? s * 1.03f : s;",
        Values,
    ),
    Row::new(
        ("takes rows that begin with zeros for zero", "C10"),
        &GEMM,
        "EACH float s = 0; bool zero = true; for (I l = 0; l < k && l < 8; ++l) zero = zero && P(l) == 0;
         if (!zero) for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = s;",
        Distribution(D::OneHotLast),
    ),
];
