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
// steps = [{ entry = "cutegen_524dbb0d2d552afe", grid = ["sm_count"], block = [512], smem = 196608, args = ["ptr(x)", "ptr(y)", "axis(b)"] }]
// eligibility = "x aligned 16 and y aligned 8"




// Mean over windows of 3 x 3 x 3 at stride 2, zeros before each axis counted. Bound by memory.
// Output plane g, counted over all channels, needs the input planes 2 g - 1, 2 g and 2 g + 1, counted likewise; the first of
// them is padding where a channel begins. A block makes a run of output planes, and so reads one contiguous run of the input:
// chunks of CHUNK_ROWS rows come through a ring of bulk copies. A warp makes one output row of each chunk. The row above a
// chunk and the sums of the plane before stay in registers.

constexpr int C = 32;                                   // channels
constexpr int D = 128, H = 128, V = 256;                // input extents of a channel
constexpr int E = D / 2, P = H / 2, Q = V / 2;          // output extents of a channel
constexpr int WARPS = 16;                               // warps of a block
constexpr int THREADS = WARPS * 32;
constexpr int CHUNK_ROWS = 2 * WARPS;                   // input rows of a chunk
constexpr int CHUNKS = H / CHUNK_ROWS;                  // chunks of a plane
constexpr int CHUNK = CHUNK_ROWS * V;                   // elements of a chunk
constexpr int CHUNK_BYTES = CHUNK * 4;
constexpr int STAGES = 6;                               // chunks in shared memory
constexpr int HALVES = 2;                               // a lane has 4 columns in each half of a row
constexpr int COLUMNS = 4 * HALVES;                     // input columns of a lane
constexpr float WINDOW = 27.0f;

static_assert(THREADS == 512 && STAGES * CHUNK_BYTES == 196608, "the block and the shared memory of the contract");
static_assert(V == 32 * COLUMNS, "a warp spans a row");
static_assert(CHUNKS * CHUNK_ROWS == H, "chunks fill a plane");

using Turn = kit::Turn<STAGES>;
using Barriers = kit::RingBarriers<STAGES>;
using Ring = kit::Ring<STAGES, CHUNK_BYTES>;

// The ring's barriers, given by reference or by address as the ring takes them.
struct BarriersAt {
  Barriers* at;
  __device__ __forceinline__ operator Barriers&() const { return *at; }
  __device__ __forceinline__ operator Barriers*() const { return at; }
};

// The chunks of a block, in order.
struct Stream {
  Turn asked;         // thread 0: the stage of the next copy
  Turn taken;         // the stage of the next chunk to use
  const float* from;  // the next chunk to copy
  int left;           // chunks that are not yet asked for

  // Thread 0 starts the next copy, if one is left.
  __device__ __forceinline__ void ask(const Ring& ring) {
    if (left > 0) {
      ring.prefetch(asked, from, CHUNK_BYTES);
      asked.next();
      from += CHUNK;
      --left;
    }
  }
};

static __device__ __forceinline__ void load_row(const float* row, int lane, float (&to)[COLUMNS]) {
#pragma unroll
  for (int half = 0; half < HALVES; ++half) {
    const float4 four = *reinterpret_cast<const float4*>(row + half * (V / HALVES) + 4 * lane);
    to[4 * half + 0] = four.x;
    to[4 * half + 1] = four.y;
    to[4 * half + 2] = four.z;
    to[4 * half + 3] = four.w;
  }
}

// Takes the next chunk and sums the three input rows of this warp's output row, for each column of this lane. `last` is, in
// warp 0, the last row of the chunk before, and becomes that of this one. All threads call.
static __device__ __forceinline__ void sum_rows(const Ring& ring, Stream& stream, int warp, int lane, bool first_chunk,
                                                float (&last)[COLUMNS], float (&sum)[COLUMNS]) {
  const float* chunk = reinterpret_cast<const float*>(ring.wait(stream.taken));
  float above[COLUMNS], v[COLUMNS], w[COLUMNS];
  load_row(chunk + (2 * warp + CHUNK_ROWS - 1) % CHUNK_ROWS * V, lane, above);  // warp 0: this chunk's last row
  load_row(chunk + 2 * warp * V, lane, v);
  load_row(chunk + (2 * warp + 1) * V, lane, w);
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) {
    const float kept = first_chunk ? 0.0f : last[k];
    const float u = warp > 0 ? above[k] : kept;
    last[k] = above[k];
    sum[k] = (u + v[k]) + w[k];
  }
  __syncthreads();  // all threads have read the stage
  if (threadIdx.x == 0) {
    ring.release(stream.taken);
    stream.ask(ring);
  }
  stream.taken.next();
}

// Joins the columns of one output row and stores its means: two neighbours in each half. All lanes call.
static __device__ __forceinline__ void store_row(float* row, int lane, const float (&column)[COLUMNS]) {
  float before = 0.0f;  // what lane 0 has on its left: the padding, then the last column of the half before
#pragma unroll
  for (int half = 0; half < HALVES; ++half) {
    const float c0 = column[4 * half + 0], c1 = column[4 * half + 1];
    const float c2 = column[4 * half + 2], c3 = column[4 * half + 3];
    const float turned = __shfl_sync(0xffffffffu, c3, (lane + 31) & 31);
    const float left = lane == 0 ? before : turned;
    before = turned;  // in lane 0: c3 of lane 31
    const float2 mean = make_float2(((left + c0) + c1) / WINDOW, ((c1 + c2) + c3) / WINDOW);
    __stcs(reinterpret_cast<float2*>(row + half * (Q / HALVES) + 2 * lane), mean);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) cutegen_524dbb0d2d552afe(const float* __restrict__ x, float* __restrict__ y,
                                                                  int64_t b) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barriers barriers;
  const Ring ring{memory, BarriersAt{&barriers}};

  const int lane = int(threadIdx.x) % 32;
  const int warp = int(threadIdx.x) / 32;

  // This block's output planes, at most one more than another block's.
  const int planes = int(b) * (C * E);
  const int begin = int(int64_t(planes) * int(blockIdx.x) / int(gridDim.x));
  const int end = int(int64_t(planes) * (int(blockIdx.x) + 1) / int(gridDim.x));
  if (begin >= end) return;

  const bool has_before = begin % E != 0;  // the input plane before is of the same channel
  const int first = 2 * begin - (has_before ? 1 : 0);
  Stream stream{Turn{}, Turn{}, x + int64_t(first) * (H * V), (2 * end - first) * CHUNKS};

  if (threadIdx.x == 0) ring.init(1);  // thread 0 releases for all, behind a barrier of the block
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int stage = 0; stage < STAGES; ++stage) stream.ask(ring);
  }
  __syncwarp();

  float last[COLUMNS];
  float carry[CHUNKS][COLUMNS];  // sums of input plane 2 * g - 1
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) {
    last[k] = 0.0f;
#pragma unroll
    for (int i = 0; i < CHUNKS; ++i) carry[i][k] = 0.0f;
  }
  if (has_before) {
#pragma unroll
    for (int i = 0; i < CHUNKS; ++i) sum_rows(ring, stream, warp, lane, i == 0, last, carry[i]);
  }

  float* to = y + int64_t(begin) * (P * Q) + warp * Q;  // this warp's row of the first chunk in plane g
#pragma unroll 1
  for (int g = begin; g < end; ++g) {
    if (g % E == 0) {  // a channel begins: the plane before is padding
#pragma unroll
      for (int i = 0; i < CHUNKS; ++i) {
#pragma unroll
        for (int k = 0; k < COLUMNS; ++k) carry[i][k] = 0.0f;
      }
    }

#pragma unroll
    for (int i = 0; i < CHUNKS; ++i) {
      float plane[COLUMNS];
      sum_rows(ring, stream, warp, lane, i == 0, last, plane);
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) carry[i][k] += plane[k];
    }

#pragma unroll
    for (int i = 0; i < CHUNKS; ++i) {
      float plane[COLUMNS], total[COLUMNS];
      sum_rows(ring, stream, warp, lane, i == 0, last, plane);
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) {
        total[k] = carry[i][k] + plane[k];
        carry[i][k] = plane[k];
      }
      store_row(to + i * (WARPS * Q), lane, total);
    }

    to += P * Q;
  }
}
