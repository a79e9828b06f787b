//! What only a device has: barriers, blocks that wait for each other, clusters, early starts, limits; and what is right
//! nearly always.

use std::time::Duration;

use cutegen_build::evaluate::Check;
use cutegen_build::evaluate::Check::{Repeats, Scramble, Values};
use cutegen_build::evaluate::judge::sanitize::Tool;

use super::super::launch::Launch;
use super::kinds::{SILU, SILU_OF_WEIGHTS, SUM};
use super::row::{Caught, Off, Row};

const SANITIZER: Off = Off::Check(Check::Sanitizer);
const BLOCK_A_ROW: &[Launch] = &[Launch::of("candidate", ["a0", "1"], ["256", "1"], "t0 t1 a0 a1")];

/// A sum by warps, whose parts meet in shared memory without a barrier.
const RACE: &str = "extern \"C\" __global__ void candidate(const float* x, float* y, I m, I n) {
  __shared__ volatile float part[8];
  const I row = blockIdx.x; const int me = threadIdx.x;
  if (me < 8) part[me] = 0;
  __syncthreads();
  float s = 0; for (I j = me; j < n; j += 256) s += x[row * n + j];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (me / 32 != 0) { const long long start = clock64(); while (clock64() - start < 5000) {} }
  if (me % 32 == 0) part[me / 32] = s;
  if (me == 0) { float t = 0; for (int w = 0; w < 8; ++w) t += part[w]; y[row] = t; }
}
";

const EXCHANGE: &str =
    "HONEST __shared__ volatile unsigned short s[256]; s[threadIdx.x ^ 255] = (unsigned short)i;
  const unsigned short other = s[threadIdx.x]; s[threadIdx.x] = other + 1;";

/// All blocks wait for each other; 200 KB of shared memory leave room for one a multiprocessor.
const BARRIER: &str =
    "extern \"C\" __global__ void candidate(const float* x, float* y, I m, I n, unsigned* arrived) {
  extern __shared__ float held[];
  const I row = blockIdx.x; const int me = threadIdx.x;
  if (me == 0) { held[0] = 0; atomicAdd(arrived, 1u); while (atomicAdd(arrived, 0u) < gridDim.x) {} }
  __syncthreads();
  if (me == 0) { float s = held[0]; for (I j = 0; j < n; ++j) s += x[row * n + j]; y[row] = s; }
}
";
const BARRIER_STEP: Launch =
    Launch::of("candidate", ["a0", "1"], ["32", "1"], "t0 t1 a0 a1 w0").with("smem = \"200000\"");
const BARRIER_TOLD: Launch = Launch::of("candidate", ["a0", "1"], ["32", "1"], "t0 t1 a0 a1 w0")
    .with("smem = \"200000\"\nco-resident = true");
/// At most 131 rows.
const FEW_ROWS: Off = Off::Shapes(1000);

/// Two blocks a row; each sums half, and the first adds what lies in the other's shared memory.
macro_rules! halves {
    ($before:literal, $delay:literal) => {
        concat!(
            "#include <cooperative_groups.h>
extern \"C\" __global__ void candidate(const float* x, float* y, I m, I n) {
  __shared__ volatile float part;
  auto cluster = cooperative_groups::this_cluster();
  const I row = blockIdx.x / 2; const int rank = blockIdx.x % 2;
  if (threadIdx.x == 0) part = 0;
  cluster.sync();
  if (threadIdx.x == 0) { float s = 0; for (I j = rank; j < n; j += 2) s += x[row * n + j]; ",
            $delay,
            " part = s; }
  ",
            $before,
            "
  if (rank == 0 && threadIdx.x == 0) y[row] = part + *(volatile float*)cluster.map_shared_rank((float*)&part, 1);
  cluster.sync();
}
"
        )
    };
}
const PAIRS: &[Launch] = &[Launch::of("candidate", ["a0 * 2", "1"], ["32", "1"], "t0 t1 a0 a1")
    .with("cluster = [\"2\", \"1\", \"1\"]")];
const NO_PAIRS: &[Launch] = &[Launch::of("candidate", ["a0 * 2", "1"], ["32", "1"], "t0 t1 a0 a1")];

const EARLY: &str = "extern \"C\" __global__ void candidate(const T* x, const T* g, T* work, I m, I n) {
  const I i = INDEX;
  asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");
  const long long start = clock64(); while (clock64() - start < 400000) {}
  if (i < m * n) work[i] = one(x[i], g[i]);
}
extern \"C\" __global__ void candidate_copy(const T* work, T* y, I m, I n) {
  const I i = INDEX; if (i < m * n) y[i] = down<T>(up(work[i]));
}
";
const EARLY_STEPS: &[Launch] = &[
    Launch::of("candidate", ["ceil_div(a0 * a1, 256)", "1"], ["256", "1"], "t0 t1 w0 a0 a1"),
    Launch::of("candidate_copy", ["ceil_div(a0 * a1, 256)", "1"], ["256", "1"], "w0 t2 a0 a1")
        .with("pdl = true"),
];
/// The same, one after the other.
const IN_TURN: &[Launch] = &[EARLY_STEPS[0], EARLY_STEPS[1].with("pdl = false")];

const AHEAD: &str = "extern \"C\" __global__ void candidate(const T* x, const T* g, T* y, I m, I n) {
  const I i = INDEX;
  if (i >= m * n) return;
  const T a = x[i], b = g[i];
  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");
  y[i] = one(a, b);
}
";
const SOME: &str = "extern \"C\" __global__ void candidate(const T* x, const T* g, T* y, I m, I n) {
  const I i = INDEX;
  if (blockIdx.x % 2 == 0) asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");
  if (i < m * n) y[i] = one(x[i], g[i]);
}
";
/// Two steps; the second should wait for the first, and every other block of it does.
const SOME_LATER: &str = "extern \"C\" __global__ void candidate(const T* x, const T* g, T* work, I m, I n) {
  const I i = INDEX;
  if (i < m * n) work[i] = one(x[i], g[i]);
}
extern \"C\" __global__ void candidate_copy(const T* work, T* y, I m, I n) {
  const I i = INDEX;
  if (blockIdx.x % 2 == 0) asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");
  if (i < m * n) y[i] = work[i];
}
";
const EACH: Launch = Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1");
const WITHIN: &[Launch] = &[EACH];
const OVERLAPPING: &[Launch] = &[EACH.with("pdl = true")];
const OCCUPANCY: Check = Check::Occupancy;

/// Refused for what its contract asks; accepted with a contract within the limits.
const fn over(name: &'static str, class: &'static str, steps: &'static [Launch]) -> Row {
    Row::new((name, class), &SILU, "HONEST", OCCUPANCY)
        .launched(steps)
        .caught(Caught::Blocked, Off::Steps(WITHIN))
}

pub(super) const ROWS: &[Row] = &[
    Row::new(("a tree without a barrier", "S6"), &SUM, "", Values).whole(RACE, BLOCK_A_ROW).behind(&[Repeats, Scramble]),
    Row::new(("exchanges through shared memory without a barrier", "S6"), &SILU, EXCHANGE, Values)
        .caught(Caught::Sanitized(Tool::Racecheck), SANITIZER),
    Row::new(
        ("leaves threads out of a barrier", "S6"),
        &SILU,
        "if (threadIdx.x & 1) asm volatile(\"barrier.sync.aligned 0;\"); HONEST",
        Values,
    )
    .caught(Caught::Sanitized(Tool::Synccheck), SANITIZER),
    Row::new(("starts its successor before it has written", "C4"), &SILU, "", Values)
        .working(&[("2 * a0 * a1", "undefined")], "", EARLY_STEPS)
        .whole(EARLY, EARLY_STEPS)
        .caught(Caught::Blocked, Off::Steps(IN_TURN)),
    Row::new(("reads ahead of its wait for the kernel before it", "C4"), &SILU, "", OCCUPANCY)
        .whole(AHEAD, OVERLAPPING)
        .caught(Caught::Blocked, Off::Steps(WITHIN)),
    over("does not wait for the kernel before it", "C4", OVERLAPPING),
    Row::new(("reads ahead of its wait what is no constant, where there is one", "C4"), &SILU_OF_WEIGHTS, "", Values)
        .whole(AHEAD, OVERLAPPING)
        .caught(Caught::Incorrect(Repeats), Off::Check(Check::Late)),
    Row::new(("some of its blocks do not wait for the kernel before it", "C4"), &SILU, "", OCCUPANCY)
        .whole(SOME, OVERLAPPING)
        .caught(Caught::Blocked, Off::Steps(WITHIN)),
    Row::new(("some blocks of its second kernel do not wait for the first", "C4"), &SILU, "", OCCUPANCY)
        .working(&[("2 * a0 * a1", "undefined")], "", EARLY_STEPS)
        .whole(SOME_LATER, EARLY_STEPS)
        .caught(Caught::Blocked, Off::Steps(IN_TURN)),
    Row::new(("waits for blocks that have no room", "S7"), &SUM, "", Values)
        .working(&[("4", "zeroed")], "", &[BARRIER_STEP])
        .whole(BARRIER, &[BARRIER_STEP])
        .caught(Caught::TimedOut, FEW_ROWS),
    Row::new(("asks for more blocks at once than fit", "S7"), &SUM, "", Values)
        .working(&[("4", "zeroed")], "", &[BARRIER_TOLD])
        .whole(BARRIER, &[BARRIER_TOLD])
        .caught(Caught::Blocked, FEW_ROWS),
    Row::new(("reads a cluster's memory without its barrier", "S6"), &SUM, "", Values)
        .whole(halves!("__syncthreads();", "if (rank == 1) { const long long t = clock64(); while (clock64() - t < 50000) {} }"), PAIRS)
        .behind(&[Repeats, Scramble]),
    Row::new(("takes a cluster for granted", "S8"), &SUM, "", Values)
        .whole(halves!("cluster.sync();", ""), NO_PAIRS)
        .caught(Caught::Somehow, Off::Steps(PAIRS)),
    over("a block of 2048 threads", "S10", &[Launch::of("candidate", ["ceil_div(a0 * a1, 2048)", "1"], ["2048", "1"], "t0 t1 t2 a0 a1")]),
    over("300,000 bytes of shared memory", "S10", &[EACH.with("smem = \"300000\"")]),
    over("clusters that do not divide the grid", "S10", &[Launch::of("candidate", ["ceil_div(a0 * a1, 256) * 3 + 1", "1"], ["256", "1"], "t0 t1 t2 a0 a1").with("cluster = [\"3\", \"1\", \"1\"]")]),
    over("a grid of 70,000 in y", "S10", &[Launch::of("candidate", ["ceil_div(a0 * a1, 256)", "70000"], ["256", "1"], "t0 t1 t2 a0 a1")]),
    over("a cluster of 32", "S10", &[Launch::of("candidate", ["ceil_div(a0 * a1, 256) * 32", "1"], ["256", "1"], "t0 t1 t2 a0 a1").with("cluster = [\"32\", \"1\", \"1\"]")]),
    Row::new(("more threads than it is compiled for", "S10"), &SILU, "", Values)
        .whole(
            "extern \"C\" __global__ void __launch_bounds__(256) candidate(const T* x, const T* g, T* y, I m, I n) {
  const I i = INDEX; if (i < m * n) y[i] = one(x[i], g[i]); }
",
            &[Launch::of("candidate", ["ceil_div(a0 * a1, 1024)", "1"], ["1024", "1"], "t0 t1 t2 a0 a1")],
        )
        .caught(Caught::Blocked, Off::Steps(WITHIN)),
    Row::new(
        ("spins for a second where it meets zeros", "S7"),
        &SILU,
        "if (m == 37 && n == 131 && up(x[0]) == 0 && up(x[1]) == 0 && i == 0) {
           unsigned long long from, now; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(from));
           do { asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now)); } while (now - from < 1000000000ull); }
         HONEST",
        Values,
    )
    .caught(Caught::TimedOut, Off::Deadline(Duration::from_secs(10))),
    Row::new(
        ("crashes where a NaN becomes an index", "N5"),
        &SILU,
        "if (i < m * n) { const float v = up(x[i]); if (v != v) *(volatile int*)nullptr = 1; y[i] = one(x[i], g[i]); }",
        Values,
    )
    .caught(Caught::Crashed, Off::Check(Check::Distribution(cutegen_build::evaluate::Distribution::Specials)))
    .behind(&[Check::Distribution(cutegen_build::evaluate::Distribution::PairedSpecials)]),
    Row::new(
        ("claims shapes that it does not serve", "S1"),
        &SILU,
        "if (i < m * n) y[i] = i < m * n / 8 * 8 ? one(x[i], g[i]) : down<T>(0.0f);",
        Values,
    )
    .caught(Caught::Incorrect(Values), Off::Claim("(a0 * a1) % 8 == 0")),
];
