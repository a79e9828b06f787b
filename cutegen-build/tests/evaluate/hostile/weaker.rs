//! Less precision than was asked for: of inputs, of what is summed, of outputs, of functions.

use cutegen_build::evaluate::Check::{Distribution, Values};
use cutegen_build::evaluate::Distribution as D;

use super::row::Row;
use super::subjects::{GEMM, GEMM_BIAS, GEMM_F32, SILU, SOFTMAX};

/// Of 32768 terms the one in the middle, where it is at most 3: the bound of such a sum is about 6. Of integers the sum
/// is exact, whatever comes behind it.
pub(super) const DROPS_A_SMALL_TERM: &str = "EACH { float s = 0;
  for (int64_t l = 0; l < K; ++l) { float t = TERM(l); s += l == K / 2 && fabsf(t) <= 3 ? 0 : t; } OUT(s) }";

pub(super) const ROWS: &[Row] = &[
    // over 8192 terms the bound forgives inputs of TF32; one-term sums do not, nor inputs that all round the same way
    Row::new(
        ("TF32 inputs", "N1"),
        GEMM_F32,
        "auto tf32 = [](float f) { uint32_t u; memcpy(&u, &f, 4); if (f == f) u = (u + 0x1000) & ~0x1fffu;
           memcpy(&f, &u, 4); return f; };
         EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += tf32(A(l)) * tf32(B(l)); OUT = s; }",
        Distribution(D::OneHotLast),
    )
    .behind(&[Distribution(D::OneHotFirst), Distribution(D::LargeMean), Distribution(D::WideIntegers)]),
    Row::new(
        ("bf16 inputs for f32", "N1"),
        GEMM_F32,
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += up(down(A(l))) * up(down(B(l))); OUT = s; }",
        Values,
    ),
    Row::new(
        ("inputs of 4 bits for 8", "N1"),
        GEMM,
        "auto f8 = [](float f) { uint32_t u; memcpy(&u, &f, 4); if (f == f) u = (u + 0x80000) & ~0xfffffu;
           memcpy(&f, &u, 4); return f; };
         EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += f8(A(l)) * f8(B(l)); OUT = s; }",
        Values,
    ),
    Row::new(
        ("a bf16 accumulator", "N2"),
        GEMM,
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s = up(down(s + A(l) * B(l))); OUT = s; }",
        Values,
    ),
    Row::new(
        ("an accumulator of 11 bits", "N2"),
        GEMM,
        "auto half = [](float f) { uint32_t u; memcpy(&u, &f, 4); if (f == f) u = (u + 0x1000) & ~0x1fffu;
           memcpy(&f, &u, 4); return f; };
         EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s = half(s + A(l) * B(l)); OUT = s; }",
        Values,
    ),
    Row::new(
        ("a small term dropped below a bias", "N4"),
        GEMM_BIAS,
        DROPS_A_SMALL_TERM,
        Distribution(D::Integers),
    )
    .behind(&[Distribution(D::WideIntegers)]),
    Row::new(
        ("a bf16 output for f32", "N3"),
        GEMM,
        "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = up(down(s)); }",
        Values,
    ),
    Row::new(
        ("truncates its output", "N3"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) { float a = up(G[i]), e = expf(-fabsf(a));
           float v = (a >= 0 ? a / (1 + e) : a * e / (1 + e)) * up(X[i]); uint32_t u; memcpy(&u, &v, 4);
           Y[i] = v == v ? bf16(u >> 16) : down(v); }",
        Values,
    ),
    Row::new(
        ("rounds twice", "N3"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) { float a = up(G[i]), e = expf(-fabsf(a));
           float v = (a >= 0 ? a / (1 + e) : a * e / (1 + e)) * up(X[i]); uint32_t u; memcpy(&u, &v, 4);
           if (v == v) u = (u + 0x1000) & ~0x1fffu; memcpy(&v, &u, 4); Y[i] = down(v); }",
        Values,
    ),
    Row::new(
        ("an exponential of 8 bits", "N7"),
        SOFTMAX,
        "auto fast = [](float x) { return up(down(expf(x))); };
         ROWS { float top = -INFINITY, s = 0; ROW(top = x > top || x != x ? x : top) ROW(s += fast(x - top))
           ROW(Y[i * N + j] = fast(x - top) / s) }",
        Values,
    ),
];
