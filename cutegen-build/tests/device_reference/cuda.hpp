// As much of CUDA as printed references name, on the host: threads run one after another.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#undef INT32_MAX
#undef INT32_MIN
#undef INT64_MAX
#undef INT64_MIN
// NVRTC's are long long, those of the headers above long.
#define int64_t cuda_int64_t
#define uint64_t cuda_uint64_t
#define __global__
#define __launch_bounds__(...)
#define __shared__ static
#define __syncthreads()
#define __popc __builtin_popcount

struct Index { unsigned x; };
static Index gridDim, blockDim, blockIdx, threadIdx;
static inline double __longlong_as_double(long long word) { double x; std::memcpy(&x, &word, 8); return x; }
static inline unsigned long long atomicAdd(unsigned long long* to, unsigned long long n) {
  const unsigned long long before = *to;
  *to += n;
  return before;
}
template <class... A, size_t... I>
static void each_thread(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(*reinterpret_cast<A*>(args[I])...);
}
template <class... A>
static void launched(void (*kernel)(A...), void** args, unsigned grid, unsigned block) {
  gridDim.x = grid, blockDim.x = block;
  each_thread(kernel, args, std::index_sequence_for<A...>{});
}

// All elements of a block in its one thread, in place of what a warp's tensor cores do.
#define CG_FRAGMENT                                                                                       \
  struct Fragment {                                                                                       \
    static constexpr int COUNT = ROWS * COLUMNS;                                                          \
    double at[COUNT] = {};                                                                                \
    static int row(int i) { return i / COLUMNS; }                                                         \
    static int column(int i) { return i % COLUMNS; }                                                      \
    template <bool MAGNITUDES>                                                                            \
    void add(const double (&left)[ROWS][PITCH], const double (&right)[COLUMNS][PITCH]) {                  \
      for (int i = 0; i < COUNT; ++i)                                                                     \
        for (int k = 0; k < DEPTH; ++k)                                                                   \
          at[i] += factor<MAGNITUDES>(left[row(i)][k]) * factor<MAGNITUDES>(right[column(i)][k]);         \
    }                                                                                                     \
  };
