#include <cute/tensor_impl.hpp>
#include <cute/atom/copy_traits.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace kit {}
// contract:
// steps = [
//   { entry = "cutegen_d251e11bd7364ad0", grid = [3, "t"], block = [128], args = ["ptr(qkv)", "ptr(offset)", "ptr(co)", "ptr(si)", "ptr(q)", "ptr(k)", "ptr(v)", "axis(n)"] },
// ]
// eligibility = "qkv aligned 16 and co aligned 16 and si aligned 16 and q aligned 16 and k aligned 16 and v aligned 16"

#include <cuda_bf16.h>

// Rotary embedding of q and k out of a packed qkv, and a copy of v. Bound by memory: each element of qkv is read once and each
// output written once, 16 bytes an access; a block is 16 heads of one token: two blocks of q, and one of k and v.

namespace {

constexpr int Q_HEADS = 32;
constexpr int KV_HEADS = 8;
constexpr int HEADS = Q_HEADS + 2 * KV_HEADS;
constexpr int DIM = 128;
constexpr int HALF = DIM / 2;
constexpr int VECTOR = 8;                // bf16 in 16 bytes
constexpr int CHUNKS = HALF / VECTOR;    // threads along a half of a head
constexpr int LANES = 16;                // heads of a block
constexpr int Q_SLOTS = Q_HEADS / LANES; // blocks of q for a token; one more is of k and v
constexpr int THREADS = CHUNKS * LANES;

static_assert(Q_SLOTS * LANES == Q_HEADS, "q fills its slots");
static_assert(2 * KV_HEADS == LANES, "k and v fill the last slot");
static_assert(THREADS == 128, "the contract's block");
static_assert(Q_SLOTS + 1 == 3, "the contract's grid");
static_assert(KV_HEADS * CHUNKS % 32 == 0, "k or v is uniform in a warp");

// 8 elements of the low half of a head, and their partners in the high half.
struct Pair {
  uint4 low, high;
};

struct Angles {
  float co[VECTOR], si[VECTOR];
};

__device__ __forceinline__ Pair load_pair(const __nv_bfloat16* from) {
  Pair x;
  x.low = __ldcs(reinterpret_cast<const uint4*>(from));
  x.high = __ldcs(reinterpret_cast<const uint4*>(from + HALF));
  return x;
}

__device__ __forceinline__ void store_pair(__nv_bfloat16* to, const Pair& x) {
  __stcs(reinterpret_cast<uint4*>(to), x.low);
  __stcs(reinterpret_cast<uint4*>(to + HALF), x.high);
}

__device__ __forceinline__ void load_floats(float (&to)[VECTOR], const float* from) {
  const float4 a = __ldg(reinterpret_cast<const float4*>(from));
  const float4 b = __ldg(reinterpret_cast<const float4*>(from) + 1);
  to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
  to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
}

// The two bf16 of a word, exactly.
__device__ __forceinline__ float first_of(unsigned word) { return __uint_as_float(word << 16); }
__device__ __forceinline__ float second_of(unsigned word) { return __uint_as_float(word & 0xffff0000u); }

__device__ __forceinline__ unsigned pack(float first, float second) {
  const unsigned a = __bfloat16_as_ushort(__float2bfloat16_rn(first));
  const unsigned b = __bfloat16_as_ushort(__float2bfloat16_rn(second));
  return a | (b << 16);
}

// Two elements of the low half and their partners.
__device__ __forceinline__ void turn_word(unsigned& low, unsigned& high, float co0, float co1, float si0, float si1) {
  const float low0 = first_of(low), low1 = second_of(low);
  const float high0 = first_of(high), high1 = second_of(high);
  low = pack(fmaf(-high0, si0, low0 * co0), fmaf(-high1, si1, low1 * co1));
  high = pack(fmaf(low0, si0, high0 * co0), fmaf(low1, si1, high1 * co1));
}

__device__ __forceinline__ Pair turn(Pair x, const Angles& by) {
  turn_word(x.low.x, x.high.x, by.co[0], by.co[1], by.si[0], by.si[1]);
  turn_word(x.low.y, x.high.y, by.co[2], by.co[3], by.si[2], by.si[3]);
  turn_word(x.low.z, x.high.z, by.co[4], by.co[5], by.si[4], by.si[5]);
  turn_word(x.low.w, x.high.w, by.co[6], by.co[7], by.si[6], by.si[7]);
  return x;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
cutegen_d251e11bd7364ad0(const __nv_bfloat16* __restrict__ qkv, const int* __restrict__ offset, const float* __restrict__ co,
        const float* __restrict__ si, __nv_bfloat16* __restrict__ q, __nv_bfloat16* __restrict__ k,
        __nv_bfloat16* __restrict__ v, int64_t n) {
  const int64_t token = blockIdx.y;
  const int slot = int(blockIdx.x);
  const int chunk = int(threadIdx.x) % CHUNKS;
  const int lane = int(threadIdx.x) / CHUNKS;
  const int place = lane * DIM + chunk * VECTOR;  // within LANES heads

  const __nv_bfloat16* from = qkv + token * (HEADS * DIM) + (slot * (LANES * DIM) + place);
  const int64_t kv_base = token * (KV_HEADS * DIM);

  // Whole warps of v: a copy that needs neither the offset nor the tables.
  if (slot == Q_SLOTS && lane >= KV_HEADS) {
    store_pair(v + kv_base + (place - KV_HEADS * DIM), load_pair(from));
    return;
  }

  const int asked = __ldg(offset);
  const Pair x = load_pair(from);

  // The tables have n + t - 1 rows: offsets in [0, n) are the valid ones, and nothing outside is ever read.
  const int last = int(n) - 1;
  const int start = asked < 0 ? 0 : (asked > last ? last : asked);
  const int64_t row = (start + token) * HALF + chunk * VECTOR;
  Angles by;
  load_floats(by.co, co + row);
  load_floats(by.si, si + row);

  __nv_bfloat16* to =
      slot < Q_SLOTS ? q + token * (Q_HEADS * DIM) + (slot * (LANES * DIM) + place) : k + kv_base + place;
  store_pair(to, turn(x, by));
}
