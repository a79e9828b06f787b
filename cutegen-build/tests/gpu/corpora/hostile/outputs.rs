//! Outputs that are not computed, or not all of them.

use cutegen_build::evaluate::Check::{Globals, Poison, Repeats, Values};

use super::super::launch::Launch;
use super::kinds::{GEMM, NORM, SILU};
use super::row::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(("writes nothing", "A2"), &SILU, "", Poison).behind(&[Values, Repeats]),
    Row::new(("leaves the last element", "A5"), &SILU, "if (i + 1 < m * n) y[i] = one(x[i], g[i]);", Poison)
        .behind(&[Values, Repeats]),
    Row::new(
        ("leaves what is off the tile", "S1"),
        &SILU,
        "if (i < m * n / 16 * 16) y[i] = one(x[i], g[i]);",
        Poison,
    )
    .behind(&[Values, Repeats]),
    Row::new(
        ("leaves what the clock says", "A5"),
        &SILU,
        "if (i < m * n && (clock64() >> 4 & 31) != 0) y[i] = one(x[i], g[i]);",
        Poison,
    )
    .behind(&[Values, Repeats]),
    Row::new(
        ("writes half of an element", "A5"),
        &SILU,
        "if (i < m * n) { const T v = one(x[i], g[i]);
           if (i == m * n / 2) ((char*)(y + i))[0] = (char)__bfloat16_as_ushort(v); else y[i] = v; }",
        Values,
    )
    .behind(&[Poison, Repeats]),
    Row::new(
        ("adds to an output that it takes for zero", "A2"),
        &SILU,
        "if (i < m * n) y[i] = down<T>(up(y[i]) + up(one(x[i], g[i])));",
        Values,
    )
    .behind(&[Poison, Repeats]),
    Row::new(("zeros", "A1"), &SILU, "if (i < m * n) y[i] = down<T>(0.0f);", Values),
    Row::new(("ignores an operand", "A1"), &SILU, "if (i < m * n) y[i] = one(x[i], x[i]);", Values),
    Row::new(("copies an input", "A4"), &SILU, "if (i < m * n) y[i] = x[i];", Values),
    Row::new(
        ("the first row for all", "A1"),
        &SILU,
        "if (i < m * n) y[i] = one(x[i % n], g[i % n]);",
        Values,
    ),
    Row::new(
        ("a tile's corner transposed", "A5"),
        &GEMM,
        "EACH float s = 0; const I o = i == 1 ? n : i == n ? 1 : i;
         for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[m > 1 && n > 1 ? o : i] = s;",
        Values,
    ),
    Row::new(("operands of the contract swapped", "A1"), &SILU, "HONEST", Values)
        .launched(&[Launch::flat("ceil_div(a0 * a1, 256)", "t1 t0 t2 a0 a1")]),
    Row::new(("axes of the contract swapped", "A1"), &NORM, "HONEST", Values)
        .launched(&[Launch::flat("ceil_div(a1, 256)", "t0 t1 t2 a1 a0 s0")])
        .behind(&[Repeats]),
    Row::new(
        ("computes once a module", "B5"),
        &SILU,
        "if (i < m * n && !done[i & 65535]) { y[i] = one(x[i], g[i]); done[i & 65535] = 1; }",
        Poison,
    )
    .head("__device__ int done[1 << 16];\n")
    .behind(&[Globals, Values, Repeats]),
    Row::new(
        ("computes every second launch", "C4"),
        &SILU,
        "const int now = launches; __syncthreads(); if (i < m * n && now % 2 == 0) y[i] = one(x[i], g[i]);
         if (i == 0) launches = now + 1;",
        Poison,
    )
    // one block, or another one would read the next count
    .head("__device__ int launches;\n")
    .claims("(a0 * a1) <= 256")
    .behind(&[Globals, Values, Repeats]),
];
