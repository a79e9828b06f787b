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
// contract:
// steps = [{ entry = "cutegen_4dad064dffee89bd", grid = ["ceil_div(t, 16)"], block = [128], args = ["ptr(logits)", "ptr(index)", "ptr(gate)", "axis(t)"] }]
// eligibility = "logits aligned 16"
// tiles = { t = [16] }



// The two largest of each row of 128 logits, and the sigmoid of their difference. Each element is read once, 16 bytes a lane. Eight
// lanes share a row, so that a warp's cross-lane steps, sigmoid and stores serve four rows. The two largest values come first, by
// minima and maxima alone; then one search for their places.

constexpr int EXPERTS = 128;
constexpr int CHOSEN = 2;
constexpr int LANES = 32;
constexpr int LANES_PER_ROW = 8;
constexpr int VECTOR = 4;                                    // floats in one access of 16 bytes
constexpr int STEP = LANES_PER_ROW * VECTOR;                 // 32: elements that a row's lanes load by one access
constexpr int LOADS = EXPERTS / STEP;                        // 4
constexpr int PER_LANE = LOADS * VECTOR;                     // 16
constexpr int THREADS = 128;
constexpr int BLOCKS_PER_SM = 8;                             // at most 64 registers; all of t = 16384 is resident at once
constexpr int ROWS_PER_WARP = LANES / LANES_PER_ROW;         // 4
constexpr int ROWS_PER_BLOCK = THREADS / LANES_PER_ROW;      // 16: in `grid` and in `tiles`
constexpr unsigned ALL_LANES = 0xffffffffu;

constexpr int MAGNITUDE_BITS = 0x7fffffff;
constexpr int NAN_KEY = 0x7fffffff;        // above +inf; its value is a NaN
constexpr float HITS_BASE = 8388608.0f;    // 2^23: sums of powers of two below it stand in the mantissa's bits

static_assert(ROWS_PER_BLOCK == 16, "the contract says 16");
static_assert(PER_LANE == 16, "two masks of a lane's elements fill 32 bits");

__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ float smaller(float a, float b) { return fminf(a, b); }
__device__ __forceinline__ int larger(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ int smaller(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ unsigned lower(unsigned a, unsigned b) { return a < b ? a : b; }
__device__ __forceinline__ unsigned higher(unsigned a, unsigned b) { return a > b ? a : b; }

// A key that orders as floats do: all NaNs are equal and above +inf, 0 equals -0. For warps that may have a NaN.
__device__ __forceinline__ int key_of(float x) {
  const int bits = __float_as_int(x);
  int key = bits ^ ((bits >> 31) & MAGNITUDE_BITS);
  if (x == 0.0f) key = 0;
  if (x != x) key = NAN_KEY;
  return key;
}

__device__ __forceinline__ float value_of(int key) { return __int_as_float(key ^ ((key >> 31) & MAGNITUDE_BITS)); }
__device__ __forceinline__ float value_of(float x) { return x; }

// The two largest, with repetition.
template <class T>
struct TopTwo {
  T high;
  T low;
};

template <class T>
__device__ __forceinline__ TopTwo<T> join(const TopTwo<T>& a, const TopTwo<T>& b) {
  TopTwo<T> both;
  both.high = larger(a.high, b.high);
  both.low = larger(smaller(a.high, b.high), larger(a.low, b.low));
  return both;
}

struct Choice {
  float high;
  float low;
  int first;
  int second;
};

// A place in the row for the lowest bit of `mask`: bit b is the lane's element b, or element b - 16 as a candidate for the second.
// Codes order candidates by value, then by index; the index is the code modulo EXPERTS. An empty mask gives a code above all others.
__device__ __forceinline__ unsigned lowest_code(unsigned mask, int sub) {
  const unsigned b = unsigned(__ffs(int(mask))) - 1u;
  return (b / unsigned(VECTOR)) * unsigned(STEP) + unsigned(sub * VECTOR) + (b % unsigned(VECTOR));
}

// Both argmaxes of a row: the second sees -inf in the first's place. x[i] is element i / 4 * 32 + sub * 4 + i % 4 of the row, and T an
// order without NaNs: floats, or keys. All lanes of the warp call; a row's lanes get the same.
template <class T>
__device__ __forceinline__ Choice choose(const T (&x)[PER_LANE], int sub) {
  TopTwo<T> tops[PER_LANE / 2];
#pragma unroll
  for (int i = 0; i < PER_LANE / 2; ++i) {
    tops[i].high = larger(x[2 * i], x[2 * i + 1]);
    tops[i].low = smaller(x[2 * i], x[2 * i + 1]);
  }
#pragma unroll
  for (int span = PER_LANE / 4; span >= 1; span /= 2) {
#pragma unroll
    for (int i = 0; i < span; ++i) tops[i] = join(tops[i], tops[i + span]);
  }
  TopTwo<T> best = tops[0];
#pragma unroll
  for (int distance = 1; distance < LANES_PER_ROW; distance *= 2) {
    TopTwo<T> other;
    other.high = __shfl_xor_sync(ALL_LANES, best.high, distance);
    other.low = __shfl_xor_sync(ALL_LANES, best.low, distance);
    best = join(best, other);
  }

  // Masks of the lane's elements that equal either value, summed exactly in floats: the additions go to the full-rate pipe.
  float high_hits = HITS_BASE;
  float low_hits = HITS_BASE;
#pragma unroll
  for (int i = 0; i < PER_LANE; ++i) {
    high_hits = fmaf(x[i] == best.high ? 1.0f : 0.0f, float(1 << i), high_hits);
    low_hits = fmaf(x[i] == best.low ? 1.0f : 0.0f, float(1 << i), low_hits);
  }
  // Low halves of both: the high value's hits below, the low value's above. Equal values are in the lower half alone.
  unsigned mask = __byte_perm(__float_as_uint(high_hits), __float_as_uint(low_hits), 0x5410);
  if (best.high == best.low) mask &= 0xffffu;

  // The two lowest codes of the row.
  unsigned first = lowest_code(mask, sub);
  unsigned second = lowest_code(mask & (mask - 1u), sub);
#pragma unroll
  for (int distance = 1; distance < LANES_PER_ROW; distance *= 2) {
    const unsigned other_first = __shfl_xor_sync(ALL_LANES, first, distance);
    const unsigned other_second = __shfl_xor_sync(ALL_LANES, second, distance);
    second = lower(higher(first, other_first), lower(second, other_second));
    first = lower(first, other_first);
  }

  Choice choice;
  choice.high = value_of(best.high);
  choice.low = value_of(best.low);
  choice.first = int(first % unsigned(EXPERTS));
  choice.second = int(second % unsigned(EXPERTS));
  // Where nothing but -inf is left, the first's own place, now -inf too, ties with the others.
  if (choice.low == -kit::infinity()) choice.second = smaller(choice.first, choice.second);
  return choice;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    cutegen_4dad064dffee89bd(const float* __restrict__ logits, int* __restrict__ index, float* __restrict__ gate, int64_t t) {
  const int sub = int(threadIdx.x) % LANES_PER_ROW;          // the lane's number in its row
  const int row = int(threadIdx.x) / LANES_PER_ROW;          // in the block
  const int64_t block_row = int64_t(blockIdx.x) * ROWS_PER_BLOCK;
  const bool there = row < int(t - block_row);
  const float4* from = reinterpret_cast<const float4*>(logits + block_row * EXPERTS) + (row * (EXPERTS / VECTOR) + sub);

  // Rows beyond the end are computed from zeros, to keep the warp whole, and not stored.
  float4 loaded[LOADS];
#pragma unroll
  for (int q = 0; q < LOADS; ++q) {
    loaded[q] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (there) loaded[q] = from[q * LANES_PER_ROW];
  }

  float x[PER_LANE];
  float sum = 0.0f;  // a NaN if any element is; else it may be one of +inf and -inf, which only takes the longer way
#pragma unroll
  for (int q = 0; q < LOADS; ++q) {
    x[VECTOR * q + 0] = loaded[q].x;
    x[VECTOR * q + 1] = loaded[q].y;
    x[VECTOR * q + 2] = loaded[q].z;
    x[VECTOR * q + 3] = loaded[q].w;
    sum += (loaded[q].x + loaded[q].y) + (loaded[q].z + loaded[q].w);
  }

  Choice choice;
  if (__any_sync(ALL_LANES, sum != sum)) {  // the same for all of the warp
    int keys[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i) keys[i] = key_of(x[i]);
    choice = choose(keys, sub);
  } else {
    choice = choose(x, sub);
  }

  if (there && sub < CHOSEN) {
    const int64_t at = block_row * CHOSEN + (row * CHOSEN + sub);
    index[at] = sub == 0 ? choice.first : choice.second;
    gate[at] = kit::sigmoid(sub == 0 ? choice.high - choice.low : choice.low - choice.high);
  }
}
