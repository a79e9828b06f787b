//! Right nearly always: at tuned shapes, on dense inputs, in most launches.

use std::time::Duration;

use cutegen_build::evaluate::Check::{Distribution, Values};
use cutegen_build::evaluate::Distribution as D;

use super::row::{Caught, Off, Row};
use super::subjects::{GEMM, SILU, SOFTMAX};

pub(super) const ROWS: &[Row] = &[
    Row::new(
        ("claims shapes that it does not serve", "S1"),
        SILU,
        "for (int64_t i = 0; i + 8 <= SIZE; i += 8) for (int64_t j = i; j < i + 8; ++j) Y[j] = one(X[j], G[j]);
         for (int64_t i = SIZE / 8 * 8; i < SIZE; ++i) Y[i] = 0;",
        Values,
    )
    .caught(Caught::Incorrect(Values), Off::Claim("(a0 * a1) % 8 == 0")),
    Row::new(
        ("right up to 4096 elements", "S2"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) Y[i] = one(X[i & 4095], G[i]);",
        Values,
    )
    .caught(Caught::Incorrect(Values), Off::Shapes(512)),
    Row::new(
        ("takes rows that begin with zeros for zero", "C10"),
        GEMM,
        "EACH { float s = 0; bool zero = true; for (int64_t l = 0; l < K && l < 8; ++l) zero = zero && A(l) == 0;
           if (!zero) for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = s; }",
        Distribution(D::OneHotLast),
    ),
    Row::new(
        ("crashes where a NaN becomes an index", "N5"),
        SOFTMAX,
        "ROWS { float s = 0; ROW(s += x) if (!(s == s)) __builtin_trap(); } HONEST",
        Distribution(D::Specials),
    )
    .caught(Caught::Crashed, Off::Check(Distribution(D::Specials)))
    .behind(&[Distribution(D::PairedSpecials)]),
    Row::new(
        ("spins for half a second where it meets zeros", "S7"),
        SILU,
        "if (SIZE == 37 * 131 && X[0] == 0 && X[1] == 0) { uint64_t now = __builtin_ia32_rdtsc();
           while (__builtin_ia32_rdtsc() - now < 1500000000) {} } HONEST",
        Values,
    )
    .caught(Caught::TimedOut, Off::Deadline(Duration::from_secs(5))),
];
