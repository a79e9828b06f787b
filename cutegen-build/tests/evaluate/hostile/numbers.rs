//! Wrong numbers: terms left out, formulas that break, special values lost.

use cutegen_build::evaluate::Check::{Distribution, Values};
use cutegen_build::evaluate::Distribution as D;

use super::row::Row;
use super::subjects::{GEMM, LARGEST, NIBBLES, NORM, PADDED, SILU, SOFTMAX, VARIANCE};

pub(super) const ROWS: &[Row] = &[
    Row::new(
        ("drops the last k", "N4"),
        GEMM,
        "EACH { float s = 0; for (int64_t l = 0; l + 1 < K; ++l) s += A(l) * B(l); OUT = s; }",
        Values,
    ),
    Row::new(
        ("drops the first k", "N4"),
        GEMM,
        "EACH { float s = 0; for (int64_t l = 1; l < K; ++l) s += A(l) * B(l); OUT = s; }",
        Values,
    ),
    Row::new(
        ("takes the last k twice", "N4"),
        GEMM,
        "EACH { float s = A(K - 1) * B(K - 1); for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = s; }",
        Values,
    ),
    Row::new(
        ("samples every second k", "N4"),
        GEMM,
        "EACH { float s = 0; for (int64_t l = 0; l < K; l += 2) s += 2 * A(l) * B(l); OUT = s; }",
        Values,
    ),
    Row::new(
        ("swallows NaN", "N5"),
        GEMM,
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = s == s ? s : 0; }",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("makes infinity NaN", "N5"),
        GEMM,
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = s + (s - s); }",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("makes infinity the largest number", "N5"),
        PADDED,
        "ROWS for (int j = 0; j < 5; ++j) { float x = X[5 * i + j]; Y[8 * i + j] = fabsf(x) > 3.4e38f ? copysignf(3.4e38f, x) : x; }",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("flushes subnormals", "N6"),
        PADDED,
        "ROWS for (int j = 0; j < 5; ++j) { float x = X[5 * i + j]; Y[8 * i + j] = fabsf(x) < 0x1p-126f ? 0 : x; }",
        Distribution(D::Specials),
    )
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("softmax without the maximum", "N9"),
        SOFTMAX,
        "ROWS { float top = 0, s = 0; bool odd = false; ROW(odd |= !std::isfinite(x))
           if (odd) { top = -INFINITY; ROW(top = x > top || x != x ? x : top) }
           ROW(s += expf(x - top)) ROW(Y[i * N + j] = expf(x - top) / s) }",
        Distribution(D::LargeMean),
    )
    .behind(&[Distribution(D::Large), Distribution(D::LogUniform)]),
    Row::new(
        ("variance by squares", "N10"),
        VARIANCE,
        "for (int64_t i = 0; i < M; ++i) { const float* x = X + i * N; float s = 0, q = 0;
           for (int64_t j = 0; j < N; ++j) { s += x[j]; q += x[j] * x[j]; }
           V[i] = q / N - (s / N) * (s / N); }",
        Distribution(D::LargeMean),
    )
    .behind(&[Distribution(D::NearOne), Distribution(D::LogUniform), Distribution(D::RowShapes)]),
    Row::new(
        ("the unbiased variance", "N10"),
        VARIANCE,
        "HONEST for (int64_t i = 0; i < M; ++i) V[i] *= float(N) / float(N - 1);",
        Values,
    ),
    Row::new(
        ("no epsilon", "N9"),
        NORM,
        "for (int64_t i = 0; i < M; ++i) { const bf16* x = X + i * N; float s = 0;
           for (int64_t j = 0; j < N; ++j) s += up(x[j]) * up(x[j]);
           float r = 1 / sqrtf(s / N);
           for (int64_t j = 0; j < N; ++j) Y[i * N + j] = down(up(x[j]) * r * up(W[j])); }",
        Values,
    ),
    Row::new(
        ("a gain of 1 + 2^-7", "N3"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) Y[i] = down(up(one(X[i], G[i])) * (1 + 0x1p-7f));",
        Values,
    ),
    Row::new(("one element 3 % too large", "A5"), GEMM, "HONEST Y[M * N / 2] *= 1.03f;", Values),
    Row::new(
        ("no clamp in the high nibble", "A5"),
        NIBBLES,
        "for (int64_t i = 0; i < (M + 1) / 2; ++i) Y[i] = one(X[i] & 15) | (X[i] >> 4) << 4;",
        Values,
    ),
    Row::new(
        ("the smallest for the largest", "A1"),
        LARGEST,
        "ROWS { int64_t k = 0; for (int64_t j = 1; j < N; ++j) if (X[i * N + j] < X[i * N + k]) k = j; Y[i] = k; }",
        Values,
    ),
    Row::new(
        ("an index that a byte holds", "S2"),
        LARGEST,
        "ROWS { int64_t k = 0; for (int64_t j = 1; j < N; ++j) if (X[i * N + j] > X[i * N + k]) k = j; Y[i] = k & 127; }",
        Values,
    ),
];
