//! Outputs that are not computed, or not all of them.

use cutegen_build::evaluate::Check::{Pages, Poison, Repeats, Values};

use super::row::Row;
use super::subjects::{GEMM, NORM, SILU};

pub(super) const ROWS: &[Row] = &[
    Row::new(("writes nothing", "A2"), SILU, "", Poison).behind(&[Values, Repeats]),
    Row::new(
        ("leaves the last element", "A5"),
        SILU,
        "for (int64_t i = 0; i + 1 < SIZE; ++i) Y[i] = one(X[i], G[i]);",
        Poison,
    )
    .behind(&[Values, Repeats]),
    Row::new(
        ("leaves one element in the middle", "A5"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) if (2 * i + 1 != SIZE) Y[i] = one(X[i], G[i]);",
        Poison,
    )
    .behind(&[Values, Repeats]),
    Row::new(
        ("leaves what is off the tile", "S1"),
        SILU,
        "for (int64_t i = 0; i < SIZE / 16 * 16; ++i) Y[i] = one(X[i], G[i]);",
        Poison,
    )
    .behind(&[Values, Repeats]),
    Row::new(
        ("writes half of an element", "A5"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) { bf16 y = one(X[i], G[i]);
           if (i != SIZE / 2) Y[i] = y; else ((char*)(Y + i))[0] = char(y); }",
        Values,
    )
    .behind(&[Poison, Repeats]),
    Row::new(
        ("adds to an output that it takes for zero", "A2"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) Y[i] = down(up(Y[i]) + up(one(X[i], G[i])));",
        Poison,
    )
    .behind(&[Values, Repeats]),
    Row::new(("zeros", "A1"), SILU, "for (int64_t i = 0; i < SIZE; ++i) Y[i] = 0;", Values),
    Row::new(
        ("ignores an operand", "A1"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) Y[i] = one(X[i], X[i]);",
        Values,
    ),
    Row::new(("copies an input", "A4"), SILU, "memcpy(Y, X, 2 * SIZE);", Values),
    Row::new(
        ("the first row for all", "A1"),
        NORM,
        "HONEST for (int64_t i = 1; i < M; ++i) memcpy(Y + i * N, Y, 2 * N);",
        Values,
    ),
    Row::new(
        ("a tile's corner transposed", "A5"),
        GEMM,
        "HONEST if (M > 1 && N > 1) { float t = Y[1]; Y[1] = Y[N]; Y[N] = t; }",
        Values,
    ),
    Row::new(("operands of the contract swapped", "A1"), SILU, "HONEST", Values)
        .args("ptr(t1) ptr(t0) ptr(t2) axis(a0) axis(a1)"),
    Row::new(("axes of the contract swapped", "A1"), NORM, "HONEST", Values)
        .args("ptr(t0) ptr(t1) ptr(t2) axis(a1) axis(a0) scalar(s0)")
        .behind(&[Repeats, Pages]),
];
