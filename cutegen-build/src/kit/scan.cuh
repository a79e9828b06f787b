// kit/scan.cuh: prefixes over a warp and a block.
//
// Contracts as in reduce.cuh; joins keep the order of threads.
#include <kit/reduce.cuh>
namespace kit {

// A state of the lane `by` below, or this lane's own.
template <class T>
__device__ __forceinline__ T shuffle_up(T x, int by) {
  static_assert(sizeof(T) % 4 == 0, "whole words");
  constexpr int WORDS = int(sizeof(T) / 4);
  uint32_t words[WORDS];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int i = 0; i < WORDS; ++i) words[i] = __shfl_up_sync(0xffffffffu, words[i], by);
  memcpy(&x, words, sizeof(T));
  return x;
}

/// Of this lane and all below.
template <class Op>
__device__ __forceinline__ typename Op::State warp_scan(typename Op::State x) {
  const int lane = thread_rank() % 32;
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const typename Op::State below = shuffle_up(x, by);
    if (lane >= by) x = Op::join(below, x);
  }
  return x;
}

/// `before` this thread, `through` it; `total` of the block.
template <class State>
struct Scanned {
  State before, through, total;
};

/// By thread_rank(). Carry `total` along longer rows.
template <class Op>
__device__ __forceinline__ Scanned<typename Op::State> block_scan(typename Op::State x, typename Op::State* slots) {
  const int rank = thread_rank(), lane = rank % 32, warp = rank / 32, warps = block_threads() / 32;
  const typename Op::State own = warp_scan<Op>(x);
  if (lane == 31) slots[warp] = own;
  __syncthreads();
  typename Op::State below = Op::none(), total = Op::none();
  for (int i = 0; i < warps; ++i) {
    if (i == warp) below = total;
    total = Op::join(total, slots[i]);
  }
  __syncthreads();
  const typename Op::State previous = shuffle_up(own, 1);
  return {lane == 0 ? below : Op::join(below, previous), Op::join(below, own), total};
}

}  // namespace kit
