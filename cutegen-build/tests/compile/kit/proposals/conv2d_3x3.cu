// contract:
// steps = [
//   { entry = "@ENTRY@_rows", grid = ["ceil_div(h * v, 64)", "b"], block = [256], args = ["ptr(x)", "workspace(w0)", "int(h * v)"] },
//   { entry = "@ENTRY@_weights", grid = [288], block = [256], args = ["ptr(w)", "workspace(w1)"] },
//   { entry = "@ENTRY@", grid = ["ceil_div(b * h * v, N)"], block = [256], smem = "STAGES * (16384 + N * 128)",
//     args = ["workspace(w0)", "workspace(w1)", "ptr(y)", "axis(b)", "axis(h)", "axis(v)"] },
// ]
// workspace = [{ bytes = "b * h * v * 128", initial = "undefined" }, { bytes = "147456", initial = "undefined" }]
// tiles = { h = [8, 16], v = [8, 16], b = [2] }
// sweep: N = 128 | 256
// sweep: STAGES = 3 | 4
#include <kit/wgmma.cuh>
#include <cstdint>
using namespace kit;
using T = __nv_bfloat16;
constexpr int C = 64, O = 128, TAPS = 9;

// Channels last: 64 pixels by 64 channels through shared memory.          to: (b, h v, C)
extern "C" __global__ void __launch_bounds__(256) @ENTRY@_rows(T const* x, T* to, int64_t pixels) {
  __shared__ T tile[C][64 + 2];
  const int first = int(blockIdx.x) * 64;
  const int64_t image = int64_t(blockIdx.y) * C * pixels;
  for (int i = threadIdx.x; i < C * 64; i += 256) {
    const int channel = i / 64, pixel = i % 64;
    if (first + pixel < pixels) tile[channel][pixel] = x[image + channel * pixels + first + pixel];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < C * 64; i += 256) {
    const int pixel = i / C, channel = i % C;
    if (first + pixel < pixels) to[image + int64_t(first + pixel) * C + channel] = tile[channel][pixel];
  }
}

// (O, C, 9) as (O, 9, C).
extern "C" __global__ void __launch_bounds__(256) @ENTRY@_weights(T const* w, T* to) {
  const int i = int(blockIdx.x) * 256 + int(threadIdx.x), o = i / (TAPS * C), tap = i / C % TAPS;
  to[i] = w[(o * C + i % C) * TAPS + tap];
}

// Row: a pixel; k: (tap, channel).
struct Window {
  using T = ::T;
  using Held = Nothing;
  static constexpr bool K_MAJOR = true;
  struct Line {
    T const* at;
    int y, x;
  };
  T const* data;
  int64_t first, pixels;
  int height, width;

  __device__ __forceinline__ Line line(int row) const {
    if (first + row >= pixels) return {data, -2, 0};  // no tap of it is inside
    const int in_image = int((first + row) % (int64_t(height) * width));
    return {data + (first + row) * C, in_image / width, in_image % width};
  }
  __device__ __forceinline__ Held fetch(void* to, Line const& line, int k) const {
    const int tap = k / C, dy = tap / 3 - 1, dx = tap % 3 - 1, y = line.y + dy, x = line.x + dx;
    const bool in = y >= 0 && y < height && x >= 0 && x < width;
    load16_async(to, in ? line.at + (dy * width + dx) * C + k % C : data, in);
    return {};
  }
  __device__ __forceinline__ void put(void*, Held) const {}
};

using Mma = TiledWgmma<T, O, N, C, 2>;
using Loop = WgmmaProduct<Mma, Rows<T>, Window, STAGES>;
static_assert(Loop::BYTES == STAGES * (16384 + N * 128) && Mma::PASS_BYTES <= Loop::BYTES && Mma::THREADS == 256, "as the launch has it");

// Filters by pixels: a product over taps and channels, bound by tensor cores.
extern "C" __global__ void __launch_bounds__(256) @ENTRY@(T const* x, T const* w, T* y, int64_t b, int64_t h, int64_t v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int64_t of_image = h * v, pixels = b * of_image, first = int64_t(blockIdx.x) * N;
  Mma::Accumulators sums;
  sums.clear();
  Loop::run(sums, {w, TAPS * C, 0, O, TAPS * C}, {x, first, pixels, int(h), int(v)}, memory, 0, TAPS);
  Mma::each_vector<8>(sums, memory, [&](int row, int column, Floats<8> const& values) {
    const int64_t pixel = first + column, image = pixel / of_image, in_image = pixel % of_image;
    if (pixel >= pixels) return;
    T* const to = y + (image * O + row) * of_image + in_image;
    if (in_image + 8 <= of_image) return store_vector(to, values, 8);
#pragma unroll
    for (int i = 0; i < 8; ++i) {  // the vector goes on in the next images
      const int64_t at = pixel + i, next = at / of_image;
      if (at < pixels) from_f32(y[(next * O + row) * of_image + at % of_image], values[i]);
    }
  });
}
