#include <cute/tensor_impl.hpp>
#include <cute/atom/copy_traits.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace kit {}
// kit/ptx.cuh: instructions without a name in CUDA C++; the other headers wrap them.
//
// All inline assembly of the kit stands here, so that a test replaces this one file to run the others on a CPU. Call the
// wrappers, which say what each needs: math.cuh, vector.cuh, pipeline.cuh, ring.cuh, launch.cuh.
namespace kit {

// The greater; a NaN on either side wins.
__device__ __forceinline__ float ptx_max_nan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
__device__ __forceinline__ float ptx_min_nan(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

// 2^x within 2 ulp; results below 2^-126 become 0.
__device__ __forceinline__ float ptx_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// 1 / x within 1 ulp.
__device__ __forceinline__ float ptx_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 16 bytes past L1. Not `.nc`: such loads may move ahead of the wait for the kernel that writes there.
__device__ __forceinline__ uint4 ptx_load_once(void const* from) {
  uint4 d;
  asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w) : "l"(from) : "memory");
  return d;
}
// 16 bytes that leave the caches first.
__device__ __forceinline__ void ptx_store_streaming(void* to, uint4 s) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
               :: "l"(to), "r"(s.x), "r"(s.y), "r"(s.z), "r"(s.w) : "memory");
}

__device__ __forceinline__ uint32_t ptx_shared(void const* at) { return uint32_t(__cvta_generic_to_shared(at)); }

// ---------------------------------------------------------------- cp.async, sm_80

// 16 bytes to shared memory: the first `bytes` are read, the rest are zeros.
__device__ __forceinline__ void ptx_copy16(void* to, void const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(ptx_shared(to)), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void ptx_copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int GROUPS>
__device__ __forceinline__ void ptx_copies_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(GROUPS) : "memory");
}

// ---------------------------------------------------------------- mbarriers and bulk copies, sm_90

__device__ __forceinline__ void ptx_barrier_init(uint64_t& at, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ptx_shared(&at)), "r"(count) : "memory");
}
// Makes initialised barriers visible to bulk copies.
__device__ __forceinline__ void ptx_barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void ptx_barrier_arrive(uint64_t& at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(ptx_shared(&at)) : "memory");
}
// Arrives, and makes the phase wait for so many bytes of bulk copies.
__device__ __forceinline__ void ptx_barrier_expect(uint64_t& at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(ptx_shared(&at)), "r"(bytes) : "memory");
}
// Returns when the phase of that parity has completed.
__device__ __forceinline__ void ptx_barrier_wait(uint64_t& at, int parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done) : "r"(ptx_shared(&at)), "r"(parity) : "memory");
  }
}
// Orders what this thread has seen of shared memory before bulk copies that it starts.
__device__ __forceinline__ void ptx_bulk_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void ptx_copy_bulk(void* to, void const* from, int bytes, uint64_t& full) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(ptx_shared(to)), "l"(from), "r"(bytes), "r"(ptx_shared(&full)) : "memory");
}

// ---------------------------------------------------------------- programmatic launches: nothing before sm_90

__device__ __forceinline__ void ptx_grid_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void ptx_grid_release() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace kit
// kit/math.cuh: functions of float with the math's NaN rules.
//
// CUDA's expf, logf, tanhf are right as they are; fmaxf and fminf drop a NaN.

namespace kit {

/// +inf.
__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

/// A NaN on either side wins.
__device__ __forceinline__ float max_nan(float a, float b) { return ptx_max_nan(a, b); }
__device__ __forceinline__ double max_nan(double a, double b) { return a != a || a > b ? a : b; }
template <class T>
__device__ __forceinline__ T max_nan(T a, T b) {
  return a > b ? a : b;
}

/// Likewise.
__device__ __forceinline__ float min_nan(float a, float b) { return ptx_min_nan(a, b); }
__device__ __forceinline__ double min_nan(double a, double b) { return a != a || a < b ? a : b; }
template <class T>
__device__ __forceinline__ T min_nan(T a, T b) {
  return a < b ? a : b;
}

/// A NaN stays.
__device__ __forceinline__ float relu(float x) { return max_nan(x, 0.0f); }

/// FAST: 5 + 0.7 |x| ulp, for 8-bit outputs; else expf.
template <bool FAST = false>
__device__ __forceinline__ float exponential(float x) {
  if constexpr (FAST) {
    const float root = ptx_exp2(x * 0x1.715476p-1f);  // squared, so that nothing is flushed too early
    return root * root;
  } else {
    return expf(x);
  }
}

/// 4 ulp.
__device__ __forceinline__ float sigmoid(float x) {
  const float e = expf(-fabsf(x)), r = 1.0f / (1.0f + e);
  return x < 0.0f ? e * r : r;
}

/// x sigmoid(x).
__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }

/// By erff.
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

/// By tanhf.
__device__ __forceinline__ float gelu_tanh(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + tanhf(u));
}

/// Without overflow.
__device__ __forceinline__ float softplus(float x) { return max_nan(x, 0.0f) + log1pf(expf(-fabsf(x))); }

}  // namespace kit
// kit/ring.cuh: stages in shared memory, filled by bulk copies; sm_90.
//
// One producer thread and consumers, each with a Turn of its own over the same stages.

namespace kit {

/// turn.next() after each stage.
template <int STAGES>
struct Turn {
  int stage = 0, round = 0;
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) stage = 0, ++round;
  }
};

/// In shared memory.
template <int STAGES>
struct RingBarriers {
  uint64_t full[STAGES], empty[STAGES];
};

/// `Ring<STAGES, BYTES> ring{memory, barriers}`; memory is STAGES * BYTES shared bytes on 16.
template <int STAGES, int BYTES>
struct Ring {
  static_assert(STAGES >= 1 && BYTES > 0 && BYTES % 16 == 0, "bulk copies are of 16 bytes");
  unsigned char* memory;
  RingBarriers<STAGES>& barriers;

  /// By one thread, then __syncthreads(). `consumers` is every thread that reads stages.
  __device__ __forceinline__ void init(int consumers) const {
    for (int i = 0; i < STAGES; ++i) {
      ptx_barrier_init(barriers.full[i], 1);
      ptx_barrier_init(barriers.empty[i], consumers);
    }
    ptx_barrier_init_fence();
  }

  /// Producer: waits for the free stage; `bytes` of all copies that follow.
  __device__ __forceinline__ void begin(Turn<STAGES> turn, int bytes) const {
    ptx_barrier_wait(barriers.empty[turn.stage], (turn.round & 1) ^ 1);
    ptx_bulk_fence();
    ptx_barrier_expect(barriers.full[turn.stage], bytes);
  }

  /// Producer: address, offset, bytes on 16; load shorter tails by hand.
  __device__ __forceinline__ void copy(Turn<STAGES> turn, int offset, void const* from, int bytes) const {
    if (bytes > 0) ptx_copy_bulk(memory + turn.stage * BYTES + offset, from, bytes, barriers.full[turn.stage]);
  }

  /// begin and one copy.
  __device__ __forceinline__ void prefetch(Turn<STAGES> turn, void const* from, int bytes) const {
    begin(turn, bytes);
    copy(turn, 0, from, bytes);
  }

  /// Consumer: the stage, when its bytes are there.
  __device__ __forceinline__ unsigned char* wait(Turn<STAGES> turn) const {
    ptx_barrier_wait(barriers.full[turn.stage], turn.round & 1);
    return memory + turn.stage * BYTES;
  }

  /// Every thread that read, itself: racecheck does not follow __syncwarp() to one lane's release.
  __device__ __forceinline__ void release(Turn<STAGES> turn) const { ptx_barrier_arrive(barriers.empty[turn.stage]); }
};

}  // namespace kit
// contract:
// steps = [{ entry = "cutegen_3eea69604760f756", grid = [4, 64, "b"], block = [128], args = ["ptr(x)", "ptr(y)"] }]
// eligibility = "x aligned 16"

#include <cute/arch/copy_sm90_tma.hpp>



namespace {

constexpr int CHANNELS = 64;
constexpr int HEIGHT = 512, WIDTH = 512;
constexpr int OUT_HEIGHT = HEIGHT - 1, OUT_WIDTH = WIDTH - 1;

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr int COLUMNS = 4;             // of a lane
constexpr int STRIP = 32 * COLUMNS;    // columns of a warp
constexpr int CHUNKS = 4;              // grid x
constexpr int CHUNK = 129;             // output rows of a block
constexpr int GROUP = 4;               // input rows that are loaded together
constexpr int MIN_BLOCKS = 5;          // of a multiprocessor
constexpr unsigned ALL = 0xffffffffu;

constexpr int STAGES = 3;              // groups of input rows that are under way or in use
constexpr int ROW_BYTES = WIDTH * 4;
constexpr int STAGE_BYTES = GROUP * ROW_BYTES;

using Loads = kit::Ring<STAGES, STAGE_BYTES>;

static_assert(WARPS * STRIP == WIDTH, "a block covers whole rows");
static_assert(CHUNKS * CHUNK >= OUT_HEIGHT, "the blocks cover a plane");
static_assert((GROUP * OUT_WIDTH) % 4 == 0, "every group of output rows has the same alignment");
static_assert(3 + GROUP * OUT_WIDTH <= GROUP * WIDTH, "a group of output rows fits its stage");

// A lane's part of an input row. `edge` is used in lane 0 (two columns left of the strip) and lane 31 (two columns right of it).
struct Row {
  float4 own;
  float2 edge;
};

__device__ __forceinline__ float4 max4(float4 a, float4 b) {
  return make_float4(kit::max_nan(a.x, b.x), kit::max_nan(a.y, b.y), kit::max_nan(a.z, b.z), kit::max_nan(a.w, b.w));
}

// Starts the load of input rows [row, row + GROUP), as far as they lie in [0, row_end): at least one does.
__device__ __forceinline__ void fetch(Loads const& ring, kit::Turn<STAGES> turn, const float* plane, int row, int row_end) {
  const int from = max(row, 0);
  const int to = min(row + GROUP, row_end);
  const int bytes = (to - from) * ROW_BYTES;
  ring.begin(turn, bytes);
  ring.copy(turn, (from - row) * ROW_BYTES, plane + from * WIDTH, bytes);
}

// From a row in shared memory; -inf where it is not there.
__device__ __forceinline__ Row load_row(const float* from, bool there, int column, int edge_column, bool has_edge) {
  const float none = -kit::infinity();
  Row r;
  r.own = make_float4(none, none, none, none);
  r.edge = make_float2(none, none);
  if (there) {
    r.own = *reinterpret_cast<const float4*>(from + column);
    if (has_edge) r.edge = *reinterpret_cast<const float2*>(from + edge_column);
  }
  return r;
}

// For each of the lane's 4 columns the maximum over columns -1 .. +2 around it.
__device__ __forceinline__ float4 across(Row const& r, int lane) {
  float left = __shfl_up_sync(ALL, r.own.w, 1);
  float right0 = __shfl_down_sync(ALL, r.own.x, 1);
  float right1 = __shfl_down_sync(ALL, r.own.y, 1);
  if (lane == 0) left = r.edge.y;
  if (lane == 31) {
    right0 = r.edge.x;
    right1 = r.edge.y;
  }
  const float p0 = kit::max_nan(left, r.own.x);     // columns -1, 0
  const float p1 = kit::max_nan(r.own.x, r.own.y);  // 0, 1
  const float p2 = kit::max_nan(r.own.y, r.own.z);  // 1, 2
  const float p3 = kit::max_nan(r.own.z, r.own.w);  // 2, 3
  const float p4 = kit::max_nan(r.own.w, right0);   // 3, 4
  const float p5 = kit::max_nan(right0, right1);    // 4, 5
  return make_float4(kit::max_nan(p0, p2), kit::max_nan(p1, p3), kit::max_nan(p2, p4), kit::max_nan(p3, p5));
}

// Component j of the result is component (j + turns) % 4 of v.
__device__ __forceinline__ float4 rotate(float4 v, int turns) {
  if (turns & 1) v = make_float4(v.y, v.z, v.w, v.x);
  if (turns & 2) v = make_float4(v.z, v.w, v.x, v.y);
  return v;
}

// Maximum over the last four rows that were pushed.
struct Window {
  float4 last;      // row k - 1
  float4 pair;      // rows k - 2, k - 1
  float4 old_pair;  // rows k - 3, k - 2

  __device__ __forceinline__ void clear() {
    const float none = -kit::infinity();
    last = pair = old_pair = make_float4(none, none, none, none);
  }

  __device__ __forceinline__ float4 push(float4 row) {
    const float4 new_pair = max4(last, row);
    const float4 top = max4(old_pair, new_pair);
    old_pair = pair;
    pair = new_pair;
    last = row;
    return top;
  }
};

}  // namespace

// Maximum over windows of 4 x 4. Bound by memory: a warp walks down 128 columns and each row is read once. Rows come and go by bulk
// copies: a ring of stages holds groups of input rows, and a group of output rows, which is contiguous, leaves while the next is formed.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) cutegen_3eea69604760f756(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ __align__(128) unsigned char fetched[STAGES * STAGE_BYTES];
  __shared__ __align__(128) float staged[2][GROUP * WIDTH];
  __shared__ kit::RingBarriers<STAGES> barriers;

  const int thread = int(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int strip = warp * STRIP;
  const int column = strip + lane * COLUMNS;
  const int edge_column = lane == 0 ? column - 2 : column + COLUMNS;
  const bool has_edge = (lane == 0 && column > 0) || (lane == 31 && column + COLUMNS < WIDTH);

  const int64_t plane = int64_t(blockIdx.z) * CHANNELS + blockIdx.y;
  const float* in = x + plane * (HEIGHT * WIDTH);
  float* out = y + plane * (OUT_HEIGHT * OUT_WIDTH);

  const int first = int(blockIdx.x) * CHUNK;              // output rows [first, end)
  const int end = min(first + CHUNK, OUT_HEIGHT);
  const int row_end = min(first + CHUNK + 2, HEIGHT);     // input rows [first - 1, row_end)
  const int groups = (end - first + 6) / GROUP;           // group g ends output rows first - 3 + 4 g .. first + 4 g

  // A group's output rows begin at staged[.][base], so that shared and global addresses agree modulo 16 bytes.
  const int base = int((reinterpret_cast<uintptr_t>(out) / 4 + static_cast<uintptr_t>(int64_t(first - 3) * OUT_WIDTH)) & 3);

  // The order in which a lane writes its columns: 32 different banks at each step.
  const int turns = lane / 8;
  int at[COLUMNS];
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) at[j] = column + ((j + turns) & 3);

  const Loads ring{fetched, barriers};
  if (thread == 0) ring.init(THREADS);
  __syncthreads();

  kit::Turn<STAGES> fill{};
  kit::Turn<STAGES> use{};
  if (thread == 0) {
#pragma unroll 1
    for (int group = 0; group < STAGES; ++group) {
      fetch(ring, fill, in, first - 1 + group * GROUP, row_end);
      fill.next();
    }
  }

  Window window;
  window.clear();

#pragma unroll 1
  for (int group = 0; group < groups; ++group) {
    const int row = first - 1 + group * GROUP;  // of now[0]
    const float* rows = reinterpret_cast<const float*>(ring.wait(use));
    Row now[GROUP];
#pragma unroll
    for (int i = 0; i < GROUP; ++i) {
      const bool there = row + i >= 0 && row + i < row_end;
      now[i] = load_row(rows + i * WIDTH, there, column, edge_column, has_edge);
    }
    ring.release(use);
    use.next();

    // The bulk store that read this stage was seen to end before the last barrier.
    float* stage = staged[group & 1];
#pragma unroll
    for (int i = 0; i < GROUP; ++i) {
      const float4 top = rotate(window.push(across(now[i], lane)), turns);
      float* to = stage + base + i * OUT_WIDTH;
      if (at[0] < OUT_WIDTH) to[at[0]] = top.x;
      if (at[1] < OUT_WIDTH) to[at[1]] = top.y;
      if (at[2] < OUT_WIDTH) to[at[2]] = top.z;
      if (at[3] < OUT_WIDTH) to[at[3]] = top.w;
    }

    if (thread == 0) cute::tma_store_wait<0>();  // the other stage is free for the next group
    cute::tma_store_fence();
    __syncthreads();

    const int p = row - 2;                                  // the output row at staged[.][base]
    const int low = base + max(first - p, 0) * OUT_WIDTH;   // this group's outputs: stage[low, high)
    const int high = base + min(end - p, GROUP) * OUT_WIDTH;
    const int low16 = (low + 3) & ~3;
    const int high16 = high & ~3;
    const int shift = p * OUT_WIDTH - base;                 // stage[k] goes to out[shift + k]

    if (thread == 0) {
      if (group + STAGES < groups) {
        fetch(ring, fill, in, row + STAGES * GROUP, row_end);
        fill.next();
      }
      cute::SM90_BULK_COPY_S2G::copy(stage + low16, out + (shift + low16), (high16 - low16) * 4);
      cute::tma_store_arrive();
    }
    if (thread >= 32 && thread < 35) {  // up to three elements before and behind the 16-byte pieces
      const int head = low + (thread - 32);
      const int tail = high16 + (thread - 32);
      if (head < low16) out[shift + head] = stage[head];
      if (tail < high) out[shift + tail] = stage[tail];
    }
  }

  if (thread == 0) cute::tma_store_wait<0>();  // shared memory stays until it is read
}
