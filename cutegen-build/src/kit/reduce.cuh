// kit/reduce.cuh: reductions over a warp and a block.
//
// An Op has State, none() and join(a, b). All lanes or threads call, and get the same bits. A block has whole warps,
// 1024 threads at most; `slots` is shared memory of 32 States, free again on return (two barriers).
#include <kit/index.cuh>
#include <kit/math.cuh>
namespace kit {

/// Op; float, double, integers.
template <class T>
struct Sum {
  using State = T;
  static constexpr bool COMMUTES = true;
  __device__ __forceinline__ static T none() { return T(0); }
  __device__ __forceinline__ static T join(T a, T b) { return a + b; }
};

/// Op.
template <class T>
struct Prod {
  using State = T;
  static constexpr bool COMMUTES = true;
  __device__ __forceinline__ static T none() { return T(1); }
  __device__ __forceinline__ static T join(T a, T b) { return a * b; }
};

/// Op; NaN if any; -inf of nothing.
template <class T>
struct Max {
  using State = T;
  static constexpr bool COMMUTES = true;
  __device__ __forceinline__ static T none() { return -T(infinity()); }
  __device__ __forceinline__ static T join(T a, T b) { return max_nan(a, b); }
};

/// Op; likewise, +inf.
template <class T>
struct Min {
  using State = T;
  static constexpr bool COMMUTES = true;
  __device__ __forceinline__ static T none() { return T(infinity()); }
  __device__ __forceinline__ static T join(T a, T b) { return min_nan(a, b); }
};

/// `value`, `index`.
template <class T>
struct Place {
  T value;
  int index;
};

template <class T, bool GREATEST>
struct Arg {
  using State = Place<T>;
  static constexpr bool COMMUTES = true;
  static constexpr int NO_INDEX = 0x7fffffff;
  __device__ __forceinline__ static State none() { return {T(0), NO_INDEX}; }
  __device__ __forceinline__ static State join(State a, State b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool better = b_nan ? !a_nan : (GREATEST ? b.value > a.value : b.value < a.value);
    const bool equal = a_nan == b_nan && (a_nan || a.value == b.value);
    const bool take = b.index != NO_INDEX && (a.index == NO_INDEX || better || (equal && b.index < a.index));
    return {take ? b.value : a.value, take ? b.index : a.index};
  }
};

/// Op on Place<T>: lowest index at ties, the first NaN if any.
template <class T>
struct ArgMax : Arg<T, true> {};
/// Likewise.
template <class T>
struct ArgMin : Arg<T, false> {};

/// `n`, `mean`, `m2`: variance = m2 / n.
template <class T>
struct Moments {
  T n, mean, m2;
};

/// Op on Moments<T>; of an infinity m2 is NaN, mean the math's.
template <class T>
struct Welford {
  using State = Moments<T>;
  static constexpr bool COMMUTES = false;
  __device__ __forceinline__ static State none() { return {T(0), T(0), T(0)}; }
  /// Of one element.
  __device__ __forceinline__ static State of(T x) { return {T(1), x, x - x}; }
  /// Of the first `count` of N.
  template <int N, class X>
  __device__ __forceinline__ static State of(X const& x, int count) {
    T sum = 0, m2 = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) sum += i < count ? T(x[i]) : T(0);
    const T mean = sum / T(count < 1 ? 1 : (count < N ? count : N));
#pragma unroll
    for (int i = 0; i < N; ++i) m2 += i < count ? (T(x[i]) - mean) * (T(x[i]) - mean) : T(0);
    if (count <= 0) return none();
    return {T(count < N ? count : N), mean, m2};
  }
  __device__ __forceinline__ static State join(State a, State b) {
    if (b.n == T(0)) return a;
    if (a.n == T(0)) return b;
    const T n = a.n + b.n, part = b.n / n, delta = b.mean - a.mean;
    const bool is_finite = delta - delta == T(0);
    const T mean = is_finite ? a.mean + delta * part : a.mean * (a.n / n) + b.mean * part;
    return {n, mean, a.m2 + b.m2 + delta * (delta * (a.n * part))};
  }
};

// A state of another lane of the warp, word by word.
template <class T>
__device__ __forceinline__ T shuffle_xor(T x, int mask) {
  static_assert(sizeof(T) % 4 == 0, "whole words");
  constexpr int WORDS = int(sizeof(T) / 4);
  uint32_t words[WORDS];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int i = 0; i < WORDS; ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], mask);
  memcpy(&x, words, sizeof(T));
  return x;
}

/// Over each LANES neighbours, a power of two.
template <class Op, int LANES = 32>
__device__ __forceinline__ typename Op::State warp_reduce(typename Op::State x) {
  static_assert(LANES >= 1 && LANES <= 32 && (LANES & (LANES - 1)) == 0, "a power of two");
  const int lane = thread_rank() % 32;
#pragma unroll
  for (int mask = 1; mask < LANES; mask *= 2) {
    const typename Op::State other = shuffle_xor(x, mask);
    if constexpr (Op::COMMUTES) x = Op::join(x, other);
    else x = (lane & mask) != 0 ? Op::join(other, x) : Op::join(x, other);
  }
  return x;
}

/// Over the block.
template <class Op>
__device__ __forceinline__ typename Op::State block_reduce(typename Op::State x, typename Op::State* slots) {
  const int rank = thread_rank(), lane = rank % 32, warps = block_threads() / 32;
  x = warp_reduce<Op>(x);
  if (lane == 0) slots[rank / 32] = x;
  __syncthreads();
  x = lane < warps ? slots[lane] : Op::none();
  __syncthreads();
  return warp_reduce<Op>(x);
}

}  // namespace kit
