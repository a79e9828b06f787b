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
// steps = [{ entry = "cutegen_34a5b5e5a95d786d", grid = [17, "b * 64"], block = [256], smem = 65536, args = ["ptr(x)", "ptr(w)", "ptr(y)"] }]
// eligibility = "x aligned 8 and y aligned 8"

#include <cute/arch/copy_sm90_tma.hpp>


// Depthwise 3 x 3 convolution, no padding. Bound by memory. A block takes a short strip of STRIP output rows of one plane (b, c),
// over all columns; a thread takes COLUMNS neighbouring columns and walks down, with the partial sums of open windows in registers.
// Blocks in the order of their launch take neighbouring strips, so that all together sweep x and y as one narrow front: the rows
// that two strips share are still in L2.
// Rows span a plane's whole width, so a strip is contiguous in x and in y. All its input rows are asked for at once, as FILLS bulk
// copies with a barrier each. The outputs of a fill take the place of inputs that every thread has read, and leave by a bulk copy.
// Those need x and y on 16 bytes; on 8 alone, plain loads serve.

constexpr int CHANNELS = 64;
constexpr int H = 512, V = 512;          // rows and columns of a plane of x
constexpr int R = 3, S = 3;              // the window
constexpr int P = H - R + 1;             // 510 rows of a plane of y
constexpr int Q = V - S + 1;             // 510 columns
constexpr int THREADS = 256;
constexpr int COLUMNS = 2;               // outputs of a thread in a row: 8 bytes, the alignment of each row of y
constexpr int WORKERS = Q / COLUMNS;     // 255 threads with columns
constexpr int STRIPS = 17;               // grid x
constexpr int STRIP = P / STRIPS;        // 30 output rows of a block
constexpr int GROUP = 8;                 // input rows of a bulk copy
constexpr int FILLS = (STRIP + R - 1) / GROUP;             // 4
constexpr int FILL_BYTES = GROUP * V * int(sizeof(float)); // 16384
constexpr int LINE = 128;                // bytes of a line of memory
constexpr int LOAD_GROUP = 6;            // rows of a turn where plain loads serve
constexpr int LOAD_TURNS = STRIP / LOAD_GROUP;

static_assert(WORKERS * COLUMNS == Q && WORKERS <= THREADS, "columns are covered without a tail");
static_assert(STRIPS * STRIP == P && LOAD_TURNS * LOAD_GROUP == STRIP, "output rows are covered without a tail");
static_assert(FILLS * GROUP == STRIP + R - 1, "input rows are covered without a tail");
static_assert(STRIP * Q % 4 == 0 && P * Q % 4 == 0, "strips of y lie on 16 bytes");
static_assert((GROUP - (R - 1)) * Q % 4 == 0 && GROUP * Q % 4 == 0, "outputs of a fill lie on 16 bytes");
static_assert((GROUP - (R - 1)) * Q + LINE / int(sizeof(float)) <= GROUP * V, "outputs of a fill lie below the next fill");
static_assert(FILLS * FILL_BYTES == 65536, "the contract's smem");

// The inputs of a thread in a row: columns 0 .. 3 from its first one.
struct Row {
  float2 left, right;
};

__device__ __forceinline__ Row load_row(const float* at) {
  Row row;
  row.left = __ldg(reinterpret_cast<const float2*>(at));
  row.right = __ldg(reinterpret_cast<const float2*>(at + 2));
  return row;
}

__device__ __forceinline__ Row load_shared_row(const float* at) {
  Row row;
  row.left = *reinterpret_cast<const float2*>(at);
  row.right = *reinterpret_cast<const float2*>(at + 2);
  return row;
}

// A window's first row.
__device__ __forceinline__ float2 start_window(const Row& row, const float (&w)[S]) {
  float2 sum;
  sum.x = row.left.x * w[0];
  sum.y = row.left.y * w[0];
  sum.x = fmaf(row.left.y, w[1], sum.x);
  sum.y = fmaf(row.right.x, w[1], sum.y);
  sum.x = fmaf(row.right.x, w[2], sum.x);
  sum.y = fmaf(row.right.y, w[2], sum.y);
  return sum;
}

// A window's later row.
__device__ __forceinline__ float2 add_row(float2 sum, const Row& row, const float (&w)[S]) {
  sum.x = fmaf(row.left.x, w[0], sum.x);
  sum.y = fmaf(row.left.y, w[0], sum.y);
  sum.x = fmaf(row.left.y, w[1], sum.x);
  sum.y = fmaf(row.right.x, w[1], sum.y);
  sum.x = fmaf(row.right.x, w[2], sum.x);
  sum.y = fmaf(row.right.y, w[2], sum.y);
  return sum;
}

// Takes one more input row, and returns the output row that it finishes. `older` holds two rows of its window, `newer` one.
// After two rows both are right, whatever they held before; what is returned for those two is no output.
__device__ __forceinline__ float2 finish_row(float2& older, float2& newer, const Row& row, const float (&w)[R][S]) {
  const float2 done = add_row(older, row, w[2]);
  older = add_row(newer, row, w[1]);
  newer = start_window(row, w[0]);
  return done;
}

// The strip by bulk copies; `from` and `to` are the strip's first elements, on 16 bytes. All threads call.
__device__ __forceinline__ void strip_by_bulk(const float* __restrict__ from, float* __restrict__ to, const float (&window)[R][S],
                                              unsigned char* memory, kit::RingBarriers<FILLS>& barriers) {
  const int thread = int(threadIdx.x);
  const int column = thread * COLUMNS;
  const bool works = thread < WORKERS;

  // Every stage is filled once and never released: the ring serves for its barriers.
  kit::Ring<FILLS, FILL_BYTES> ring{memory, barriers};
  if (thread == 0) ring.init(1);
  __syncthreads();
  if (thread == 0) {
    kit::Turn<FILLS> fill{};
    for (int k = 0; k < FILLS; ++k) {
      ring.prefetch(fill, from + k * (GROUP * V), FILL_BYTES);
      fill.next();
    }
  }

  // Outputs lie as densely as in y, at the same place in a line as there: lines leave whole. Those of fill j end below fill j + 1.
  const int shift = int(reinterpret_cast<uintptr_t>(to) & uintptr_t(LINE - 1)) / int(sizeof(float));
  float* const outputs = reinterpret_cast<float*>(memory) + shift;

  // Thread 0 sends the output rows that a fill has finished.
  auto send = [&](int fill) {
    const int first = fill == 0 ? 0 : fill * GROUP - (R - 1);
    const int rows = fill == 0 ? GROUP - (R - 1) : GROUP;
    cute::SM90_BULK_COPY_S2G::copy(outputs + first * Q, to + first * Q, rows * Q * int(sizeof(float)));
    cute::tma_store_arrive();
  };

  kit::Turn<FILLS> turn{};
  float2 older = make_float2(0.0f, 0.0f);
  float2 newer = make_float2(0.0f, 0.0f);

#pragma unroll 1
  for (int fill = 0; fill < FILLS; ++fill) {
    const float* stage = reinterpret_cast<const float*>(ring.wait(turn));
    float2 done[GROUP];
    if (works) {
      Row rows[GROUP];
#pragma unroll
      for (int k = 0; k < GROUP; ++k) rows[k] = load_shared_row(stage + k * V + column);
#pragma unroll
      for (int k = 0; k < GROUP; ++k) done[k] = finish_row(older, newer, rows[k], window);
    }
    // All have read this fill, and all have written the outputs of the fill before.
    __syncthreads();
    if (thread == 0 && fill > 0) send(fill - 1);
    if (works) {
      const int at = (fill * GROUP - (R - 1)) * Q + column;  // of the row that the fill's first input row finishes
#pragma unroll
      for (int k = 0; k < GROUP; ++k) {
        // The strip's first R - 1 input rows finish none.
        if (k >= R - 1 || fill > 0) *reinterpret_cast<float2*>(outputs + (at + k * Q)) = done[k];
      }
    }
    cute::tma_store_fence();  // what this thread wrote is seen by the bulk copy behind the next barrier
    turn.next();
  }
  __syncthreads();
  if (thread == 0) {
    send(FILLS - 1);
    cute::tma_store_wait<0>();  // shared memory stays until it has been read
  }
}

// The strip by loads and stores of 8 bytes.
__device__ __forceinline__ void strip_by_loads(const float* __restrict__ from, float* __restrict__ to,
                                               const float (&window)[R][S]) {
  const int thread = int(threadIdx.x);
  if (thread >= WORKERS) return;  // no barriers below
  from += thread * COLUMNS;
  to += thread * COLUMNS;

  const Row first = load_row(from);
  const Row second = load_row(from + V);
  from += (R - 1) * V;
  float2 older = add_row(start_window(first, window[0]), second, window[1]);
  float2 newer = start_window(second, window[0]);

#pragma unroll 1
  for (int group = 0; group < LOAD_TURNS; ++group) {
    Row rows[LOAD_GROUP];
#pragma unroll
    for (int k = 0; k < LOAD_GROUP; ++k) rows[k] = load_row(from + k * V);
#pragma unroll
    for (int k = 0; k < LOAD_GROUP; ++k) {
      __stcs(reinterpret_cast<float2*>(to + k * Q), finish_row(older, newer, rows[k], window));
    }
    from += LOAD_GROUP * V;
    to += LOAD_GROUP * Q;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    cutegen_34a5b5e5a95d786d(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ kit::RingBarriers<FILLS> barriers;

  const int plane = int(blockIdx.y);
  const int top = int(blockIdx.x) * STRIP;
  const float* from = x + int64_t(plane) * (H * V) + top * V;
  float* to = y + int64_t(plane) * (P * Q) + top * Q;

  const float* weights = w + (plane % CHANNELS) * (R * S);
  float window[R][S];
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int s = 0; s < S; ++s) window[r][s] = __ldg(weights + r * S + s);
  }

  // The same for every thread of the launch.
  if (((reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) & 15) == 0) {
    strip_by_bulk(from, to, window, memory, barriers);
  } else {
    strip_by_loads(from, to, window);
  }
}
