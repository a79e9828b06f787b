//! Memory that is not the candidate's to write, or to read.

use cutegen_build::evaluate::Check;
use cutegen_build::evaluate::Check::{Guards, Inputs, Misalignment, Poison, Repeats, Untouched, Values};
use cutegen_build::evaluate::judge::sanitize::Tool;

use super::super::launch::Launch;
use super::kinds::{PADDED, SCATTER, SILU};
use super::row::{Caught, Off, Row};

const WORK: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1 w0")];
const WORKING: &str = "const T* x, const T* g, T* y, I m, I n, int* work";
const VECTORS: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 2048)", "t0 t1 t2 a0 a1")];
const SANITIZER: Off = Off::Check(Check::Sanitizer);

pub(super) const ROWS: &[Row] = &[
    Row::new(("writes one element too many", "B7"), &SILU, "if (i <= m * n) y[i] = one(x[i], g[i]);", Guards),
    Row::new(("writes before an output", "B7"), &SILU, "HONEST if (i == 0) y[-1] = down<T>(0.0f);", Guards),
    Row::new(("writes far behind an output", "B7"), &SILU, "HONEST if (i == 0) ((char*)y)[2 * m * n + 4000] = 0;", Guards),
    Row::new(("writes before an input", "B7"), &SILU, "HONEST if (i == 0) ((T*)x)[-1] = down<T>(7.0f);", Guards),
    Row::new(("writes behind its workspace", "B7"), &SILU, "HONEST if (i == 0) work[250] = 1;", Guards)
        .working(&[("1000", "undefined")], WORKING, WORK),
    Row::new(
        ("edits an input", "B6"),
        &SILU,
        "HONEST if (i + 1 == m * n) ((unsigned short*)x)[i] ^= 1;",
        Inputs,
    )
    .behind(&[Repeats]),
    Row::new(
        ("takes an input for scratch", "B6"),
        &SILU,
        "if (i < m * n) { const T v = one(x[i], g[i]); ((T*)g)[i] = v; y[i] = v; }",
        Inputs,
    )
    .behind(&[Repeats]),
    Row::new(
        ("numbers in the gaps of an output", "S4"),
        &PADDED,
        "HONEST if (i + 1 < m) y[i * 8 + 6] = 0;",
        Untouched,
    ),
    Row::new(
        ("writes whole rows of eight", "S4"),
        &PADDED,
        "if (i < m * n) { y[i / n * 8 + i % n] = x[i]; if (i % n < 3 && i / n + 1 < m) y[i / n * 8 + 5 + i % n] = x[i]; }",
        Untouched,
    ),
    Row::new(
        ("touches a row of an inout that nothing addresses", "S9"),
        &SCATTER,
        "HONEST if (i == 0) { bool hit = false; for (I j = 0; j < b; ++j) hit = hit || at[j] == 300; if (!hit) c[300] = 7; }",
        Untouched,
    )
    .behind(&[Repeats]),
    Row::new(("overwrites an inout", "S9"), &SCATTER, "if (i < b) c[at[i]] = x[i];", Values),
    Row::new(("one value for all that is scattered", "A1"), &SCATTER, "if (i < b) c[at[i]] += x[0];", Values),
    Row::new(
        ("takes every base for aligned", "S3"),
        &SILU,
        "",
        Misalignment,
    )
    .whole(
        "struct alignas(16) Eight { T v[8]; };
extern \"C\" __global__ void candidate(const T* x, const T* g, T* y, I m, I n) {
  const I i = INDEX; if (i * 8 >= m * n) return;
  const Eight a = ((const Eight*)x)[i], b = ((const Eight*)g)[i]; Eight r;
  for (int e = 0; e < 8; ++e) r.v[e] = one(a.v[e], b.v[e]);
  ((Eight*)y)[i] = r;
}
",
        VECTORS,
    )
    .claims("(a0 * a1) % 8 == 0"),
    Row::new(
        ("reads behind an input", "S5"),
        &SILU,
        "if (i < m * n) y[i] = one(x[i + (i + 1 == m * n)], g[i]);",
        Values,
    )
    .behind(&[Repeats]),
    Row::new(
        ("reads behind an input, and makes nothing of it", "S5"),
        &SILU,
        "if (i < m * n) { const unsigned short past = ((volatile unsigned short*)x)[i + 1];
           if (past == 0x1234) asm volatile(\"\"); y[i] = one(x[i], g[i]); }",
        Values,
    )
    .caught(Caught::Sanitized(Tool::Memcheck), SANITIZER),
    Row::new(
        ("tells the gate by its guards", "C9"),
        &SILU,
        "if (i < m * n) { const unsigned short before = ((volatile unsigned short*)x)[-1];
           y[i] = before == 0x7fc1 ? x[i] : one(x[i], g[i]); }",
        Values,
    )
    .caught(Caught::Sanitized(Tool::Memcheck), SANITIZER),
    Row::new(
        ("reads workspace that nobody wrote", "A3"),
        &SILU,
        "if (i < m * n) y[i] = work[threadIdx.x] == 0x12345678 ? x[i] : one(x[i], g[i]);",
        Values,
    )
    .working(&[("1024", "undefined")], WORKING, WORK)
    .caught(Caught::Sanitized(Tool::Initcheck), SANITIZER),
    Row::new(
        ("an index of 16 bits", "S2"),
        &SILU,
        "const unsigned short at = (unsigned short)i; if (i < m * n) y[at] = one(x[at], g[at]);",
        Poison,
    )
    .caught(Caught::Incorrect(Poison), Off::Shapes(6 * 7500))
    .behind(&[]),
];
