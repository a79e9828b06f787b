//! What a launch takes over from an earlier one, or from elsewhere: memory, clocks, counters, where it runs.

use cutegen_build::evaluate::Check::{
    Changed, Globals, KeptZero, Poison, Repeats, Scramble, Stale, Timed, Values, WorkspacePoison,
};

use super::super::launch::Launch;
use super::kinds::{GEMM, SILU, SUM};
use super::row::{Caught, Off, Row};

const WORK: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1 w0")];
const WORK_EACH: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1 a2 w0")];
const SUMS: &[Launch] = &[
    Launch::of("candidate", ["ceil_div(a0 * a1, 32)", "1"], ["32", "1"], "t0 w0 a0 a1"),
    Launch::of("candidate_copy", ["ceil_div(a0, 256)", "1"], ["256", "1"], "w0 t1 a0 a1"),
];
/// Few blocks fit a multiprocessor, so that most are placed as others end.
const CROWDED: &[Launch] =
    &[Launch::of("candidate", ["ceil_div(a0 * a1, 2)", "1"], ["2", "1"], "t0 t1 t2 a0 a1 a2")
        .with("smem = \"100000\"")];

/// The order in which the product is summed depends on the bit `back`.
macro_rules! either_way {
    ($back:literal) => {
        concat!(
            "const bool back = ",
            $back,
            "; EACH float s = 0; for (I l = 0; l < k; ++l) { const I h = back ? k - 1 - l : l; s += P(h) * Q(h); } y[i] = s;"
        )
    };
}

const TIMER: &str = "__device__ inline unsigned long long timer() {
  unsigned long long t; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t)); return t; }
";
const PLACE: &str = "__device__ inline unsigned place() {
  unsigned s; asm volatile(\"mov.u32 %0, %smid;\" : \"=r\"(s)); return s; }
";

pub(super) const ROWS: &[Row] = &[
    Row::new(
        ("a result kept by pointer", "B1"),
        &SILU,
        "if (i >= m * n) return; const I at = i & 65535;
         if (from[at] != x + i) { kept[at] = one(x[i], g[i]); from[at] = x + i; } y[i] = kept[at];",
        Globals,
    )
    .head("__device__ T kept[1 << 16]; __device__ const T* from[1 << 16];\n")
    .claims("(a0 * a1) <= 65536")
    .behind(&[Changed]),
    Row::new(
        ("a result kept by its inputs", "A7"),
        &SILU,
        "if (i >= m * n) return; const I at = i & 65535;
         const unsigned now = 1u << 31 | __bfloat16_as_ushort(x[i]) << 15 | __bfloat16_as_ushort(g[i]) >> 1;
         if (key[at] != now) { kept[at] = one(x[i], g[i]); key[at] = now; } y[i] = one(x[i], g[i]);",
        Globals,
    )
    .head("__device__ T kept[1 << 16]; __device__ unsigned key[1 << 16];\n"),
    Row::new(
        ("a result kept by shape", "B2"),
        &SILU,
        "if (i >= m * n) return; if (shape[i & 65535] != m * 65536 + n) { kept[i & 65535] = one(x[i], g[i]);
           shape[i & 65535] = m * 65536 + n; } y[i] = kept[i & 65535];",
        Globals,
    )
    .head("__device__ T kept[1 << 16]; __device__ I shape[1 << 16];\n")
    .claims("(a0 * a1) <= 65536")
    .behind(&[Changed]),
    Row::new(
        ("a table that the first launch makes", "C15"),
        &SILU,
        "if (i < m * n) { const int at = i & 255; if (!table[at]) table[at] = at + 1; HONEST }",
        Globals,
    )
    .head("__device__ int table[256];\n"),
    Row::new(
        ("a local static counter", "B5"),
        &SILU,
        "static int launches; if (i == 0) ++launches; HONEST",
        Globals,
    ),
    Row::new(
        ("wrong after a hundred thousand launches", "C9"),
        &SILU,
        "if (i < m * n) y[i] = launches > 100000 ? x[i] : one(x[i], g[i]); if (i == 0) atomicAdd(&launches, 1);",
        Globals,
    )
    .head("__device__ int launches;\n")
    .behind(&[Timed]),
    Row::new(
        ("wrong at its fifteenth launch", "C9"),
        &SILU,
        "const int now = launches; __syncthreads(); if (i < m * n) y[i] = now == 14 ? x[i] : one(x[i], g[i]); if (i == 0) launches = now + 1;",
        Repeats,
    )
    .head("__device__ int launches;\n")
    .claims("(a0 * a1) <= 256")
    .behind(&[Globals]),
    Row::new(
        ("wrong once it is launched as often as a timed kernel", "C9"),
        &SILU,
        "if (i < m * n) y[i] = launches > 150 ? x[i] : one(x[i], g[i]); if (i == 0) atomicAdd(&launches, 1);",
        Timed,
    )
    .head("__device__ int launches;\n")
    .behind(&[Globals]),
    Row::new(
        ("skips an output that is no poison", "C4"),
        &SILU,
        "const bool mine = i < m * n; const unsigned short held = mine ? __bfloat16_as_ushort(y[i / 256 * 256]) : 0;
         __syncthreads(); if (mine && (held >> 8) == (held & 255)) y[i] = one(x[i], g[i]);",
        Stale,
    )
    .behind(&[Changed]),
    Row::new(
        ("skips each block of its output of which four elements fit the inputs", "C4"),
        &SILU,
        "const I b = i / 256 * 256; bool fits = b + 256 <= m * n;
         for (I j = b; j < b + 256 && fits; j += 85) fits = up(y[j]) != 0 && up(y[j]) == up(one(x[j], g[j]));
         __syncthreads(); if (i < m * n && !fits) y[i] = one(x[i], g[i]);",
        Changed,
    )
    .caught(Caught::Incorrect(Values), Off::Check(Changed)),
    Row::new(
        ("sums in an order that the clock picks", "C9"),
        &GEMM,
        either_way!("clock64() >> 6 & 1"),
        Repeats,
    ),
    Row::new(
        ("sums in an order that the timer picks", "C9"),
        &GEMM,
        either_way!("timer() >> 10 & 1"),
        Repeats,
    )
    .head(TIMER),
    Row::new(
        ("sums in an order that its place picks", "C9"),
        &GEMM,
        either_way!("place() & 1"),
        Repeats,
    )
    .head(PLACE)
    .launched(CROWDED),
    Row::new(("adds floats by atomics", "N8"), &SUM, "", Repeats)
        .working(&[("4 * a0", "zeroed")], "", SUMS)
        .whole(
            "extern \"C\" __global__ void candidate(const float* x, float* s, I m, I n) {
  const I i = INDEX; if (i < m * n) atomicAdd(s + i / n, x[i]); }
extern \"C\" __global__ void candidate_copy(const float* s, float* y, I m, I n) {
  const I i = INDEX; if (i < m) y[i] = s[i]; }
",
            SUMS,
        ),
    Row::new(
        ("rounds at random", "N8"),
        &SILU,
        "if (i < m * n) { const float v = silu(up(g[i])) * up(x[i]);
           const unsigned u = __float_as_uint(v) + ((unsigned)(clock64() * 2654435761u + i) & 0xffff);
           y[i] = v - v == 0 ? down<T>(__uint_as_float(u & 0xffff0000u)) : down<T>(v); }",
        Repeats,
    )
    .behind(&[Values, Poison]),
    Row::new(
        ("workspace taken for zero", "B9"),
        &SILU,
        "if (i < m * n) y[i] = work[7] == 0 ? one(x[i], g[i]) : down<T>(0.0f);",
        WorkspacePoison,
    )
    .working(&[("1024", "undefined")], "const T* x, const T* g, T* y, I m, I n, int* work", WORK),
    Row::new(
        ("a counter that is not put back", "B9"),
        &SILU,
        "if (i < m * n) y[i] = one(x[i], g[i]); if (i == 0) atomicAdd(work + 7, 1);",
        KeptZero,
    )
    .working(&[("1024", "kept-zero")], "const T* x, const T* g, T* y, I m, I n, int* work", WORK),
    Row::new(
        ("a sum added to workspace taken for zero", "B9"),
        &GEMM,
        "EACH for (I l = 0; l < k; ++l) work[i] += P(l) * Q(l); y[i] = work[i]; work[i] = 0;",
        WorkspacePoison,
    )
    .working(
        &[("4 * a0 * a1", "undefined")],
        "const bf16* x, const bf16* w, float* y, I m, I n, I k, float* work",
        WORK_EACH,
    )
    .caught(Caught::Incorrect(Poison), Off::Check(WorkspacePoison)),
    Row::new(
        ("shared memory taken for zero", "A3"),
        &SUM,
        "",
        Scramble,
    )
    .whole(
        "extern \"C\" __global__ void candidate(const float* x, float* y, I m, I n) {
  __shared__ volatile float held[256];
  const float before = held[threadIdx.x];
  const I i = INDEX;
  if (i < m) { float s = before == before ? 0 : before; for (I j = 0; j < n; ++j) s += x[i * n + j]; y[i] = s; }
  held[threadIdx.x] = 0;
}
",
        &[Launch::flat("ceil_div(a0, 256)", "t0 t1 a0 a1")],
    ),
    Row::new(
        ("local memory taken for zero", "A3"),
        &SUM,
        "",
        Scramble,
    )
    .whole(
        "extern \"C\" __global__ void candidate(const float* x, float* y, I m, I n) {
  volatile float held[300];
  const float before = held[n & 255];
  const I i = INDEX;
  if (i < m) { float s = before == before ? 0 : before; for (I j = 0; j < n; ++j) s += x[i * n + j]; y[i] = s; }
  held[n & 255] = 0;
}
",
        &[Launch::flat("ceil_div(a0, 256)", "t0 t1 a0 a1")],
    ),
    Row::new(
        ("local memory taken for zero, in a long frame", "A3"),
        &SUM,
        "",
        Scramble,
    )
    .whole(
        "extern \"C\" __global__ void candidate(const float* x, float* y, I m, I n) {
  volatile float held[3000];
  const float before = held[2048 + (n & 255)];
  const I i = INDEX;
  if (i < m) { float s = before == before ? 0 : before; for (I j = 0; j < n; ++j) s += x[i * n + j]; y[i] = s; }
  held[2048 + (n & 255)] = 0;
}
",
        &[Launch::flat("ceil_div(a0, 256)", "t0 t1 a0 a1")],
    ),
    Row::new(
        ("a frame that nothing fills", "A3"),
        &SUM,
        "",
        Scramble,
    )
    .whole(
        "extern \"C\" __global__ void candidate(const float* x, float* y, I m, I n) {
  volatile float held[10000];
  const I i = INDEX;
  held[n & 255] = 0;
  if (i < m) { float s = 0; for (I j = 0; j < n; ++j) s += x[i * n + j]; y[i] = s + held[n & 255]; }
}
",
        &[Launch::flat("ceil_div(a0, 256)", "t0 t1 a0 a1")],
    )
    .caught(Caught::Blocked, Off::Check(Scramble)),
    Row::new(
        ("tells a poison that is not NaN", "C9"),
        &SILU,
        "if (i < m * n) { const unsigned short held = __bfloat16_as_ushort(y[i]);
           const bool second = held != 0xffff && held != 0 && (held >> 8) == (held & 255);
           y[i] = i == m * n / 2 && second ? x[i] : one(x[i], g[i]); }",
        Repeats,
    ),
];
