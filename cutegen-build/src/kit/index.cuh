// kit/index.cuh: integers, and a thread's place.
namespace kit {

/// a / b rounded up; a >= 0, b > 0.
template <class T>
__device__ __forceinline__ constexpr T ceil_div(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Up to a multiple of b.
template <class T>
__device__ __forceinline__ constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}

/// Rounded down, b > 0: the math's `/` in brackets.
template <class T>
__device__ __forceinline__ constexpr T floor_div(T a, T b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// In [0, b): the math's `%`.
template <class T>
__device__ __forceinline__ constexpr T floor_mod(T a, T b) {
  return a % b + (a % b < 0 ? b : T(0));
}

/// `div` and `mod`.
struct DivMod {
  int64_t div, mod;
};

/// By a constant; i >= 0, in 32 bits where it fits.
template <int D>
__device__ __forceinline__ DivMod div_mod(int64_t i) {
  static_assert(D > 0, "a positive divisor");
  if ((i >> 32) == 0) return {int64_t(uint32_t(i) / uint32_t(D)), int64_t(uint32_t(i) % uint32_t(D))};
  return {i / D, i % D};
}

/// Likewise.
__device__ __forceinline__ DivMod div_mod(int64_t i, int64_t d) {
  if (((i | d) >> 32) == 0) return {int64_t(uint32_t(i) / uint32_t(d)), int64_t(uint32_t(i) % uint32_t(d))};
  return {i / d, i % d};
}

/// Row-major: at[N - 1] runs fastest; extents[0] is unread.
template <int N>
__device__ __forceinline__ void unflatten(int64_t flat, int64_t const (&extents)[N], int64_t (&at)[N]) {
#pragma unroll
  for (int axis = N - 1; axis > 0; --axis) {
    const DivMod both = div_mod(flat, extents[axis]);
    at[axis] = both.mod;
    flat = both.div;
  }
  at[0] = flat;
}

/// Number in the block, x fastest.
__device__ __forceinline__ int thread_rank() {
  return int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

/// Threads of the block.
__device__ __forceinline__ int block_threads() { return int(blockDim.x * blockDim.y * blockDim.z); }

}  // namespace kit
