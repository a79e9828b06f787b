// kit/pipeline.cuh: cp.async loads to shared memory; tiles with a halo.
//
// Load tile 0, commit. Each turn: load the next into another buffer, commit, wait_loads<1>(), __syncthreads(), use,
// __syncthreads(). Commit even where nothing is left.
#include <kit/index.cuh>
#include <kit/ptx.cuh>
#include <kit/vector.cuh>
namespace kit {

/// Shared from global, both on 16 bytes; zeros unless `there`.
__device__ __forceinline__ void load16_async(void* to, void const* from, bool there = true) {
  ptx_copy16(to, from, there ? 16 : 0);
}

/// Ends a group of this thread.
__device__ __forceinline__ void commit_loads() { ptx_copies_commit(); }

/// Until LATER groups at most are under way; other threads see bytes behind __syncthreads().
template <int LATER = 0>
__device__ __forceinline__ void wait_loads() {
  ptx_copies_wait<LATER>();
}

/// `data`, `stride` between rows, `height`, `width`.
template <class T>
struct Plane {
  T const* data;
  int64_t stride;
  int height, width;
};

/// tile[r * pitch + c] = plane at (top + r, left + c), `fill` outside. All threads call. Asynchronous where both sides
/// are on 16 bytes: align pitch, left, stride.
template <class T>
__device__ __forceinline__ void load_tile_async(T* tile, int pitch, int rows, int columns, Plane<T> const& plane, int top, int left,
                                                T fill) {
  constexpr int N = VECTOR<T>;
  const int chunks = ceil_div(columns, N);
  for (int i = thread_rank(); i < rows * chunks; i += block_threads()) {
    const int r = i / chunks, c = i % chunks * N, y = top + r, x = left + c;
    const bool is_row = y >= 0 && y < plane.height;
    T* to = tile + r * pitch + c;
    T const* from = plane.data + (is_row ? y * plane.stride : 0);
    const bool is_whole = is_row && x >= 0 && x + N <= plane.width && c + N <= columns;
    if (is_whole && is_aligned<N>(to) && is_aligned<N>(from + x)) {
      load16_async(to, from + x);
      continue;
    }
    for (int e = 0; e < N && c + e < columns; ++e) {
      to[e] = is_row && x + e >= 0 && x + e < plane.width ? from[x + e] : fill;
    }
  }
}

}  // namespace kit
