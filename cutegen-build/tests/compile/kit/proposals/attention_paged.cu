// contract:
// steps = [
//   { entry = "@ENTRY@_parts", grid = [PARTS, 8, "b"], block = [32], smem = "4096 + KV * 1024",
//     args = ["ptr(q)", "ptr(k)", "ptr(v)", "ptr(table)", "ptr(pos)", "scalar(scale)", "workspace(w0)", "workspace(w1)", "axis(t)"] },
//   { entry = "@ENTRY@", grid = [32, "b"], block = [128], args = ["workspace(w0)", "workspace(w1)", "ptr(y)"] },
// ]
// workspace = [{ bytes = "b * PARTS * 16384", initial = "undefined" }, { bytes = "b * PARTS * 256", initial = "undefined" }]
// eligibility = "q aligned 16 and k aligned 16 and v aligned 16"
// tiles = { t = [16, 64] }
// sweep: PARTS = 8 | 16 | 32
// sweep: KV = 32 | 64
#include <kit/attention.cuh>
#include <cstdint>
using namespace kit;
using T = __nv_bfloat16;
constexpr int D = 128, H = 32, KH = 8, GROUP = H / KH, PAGE = 16;
using Core = Attention<T, D, KV, 1, 1, 2, 2>;  // one warp: its rows are the heads that share keys
static_assert(Core::BYTES == 4096 + KV * 1024 && KV % PAGE == 0, "as the launch has it");

// Keys or values of one head, found by the page table.
struct Paged {
  using T = ::T;
  using Held = Nothing;
  static constexpr bool K_MAJOR = true;
  struct Line {
    T const* at;
    bool in;
  };
  T const* data;
  int const* pages;
  int keys, head;

  __device__ __forceinline__ Line line(int key) const {
    const bool in = key < keys;
    return {data + (in ? ((int64_t(pages[key / PAGE]) * PAGE + key % PAGE) * KH + head) * D : 0), in};
  }
  __device__ __forceinline__ Held fetch(void* to, Line const& line, int at) const {
    load16_async(to, line.at + at, line.in);
    return {};
  }
  __device__ __forceinline__ void put(void*, Held) const {}
};

// A part of the keys for the heads that share them. Bound by reading the cache.     sums: (b, PARTS, H, D), rows: (b, PARTS, H, 2)
extern "C" __global__ void __launch_bounds__(32, 1) @ENTRY@_parts(T const* q, T const* k, T const* v, int const* table, int const* pos,
                                                               float scale, float* sums, float* rows, int64_t t) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int head = int(blockIdx.y), batch = int(blockIdx.z), keys = pos[batch] + 1, tiles = ceil_div(keys, KV);
  const int begin = tiles * int(blockIdx.x) / PARTS, end = tiles * (int(blockIdx.x) + 1) / PARTS;
  int const* const pages = table + batch * ((t + PAGE - 1) / PAGE);
  const auto state = Core::run(Rows<T>{q + (int64_t(batch) * H + head * GROUP) * D, D, 0, GROUP, D}, Paged{k, pages, keys, head},
                               Paged{v, pages, keys, head}, Band{scale * LOG2E, keys, -(1 << 30), 1 << 30}, 0, memory, begin, end);
  const int64_t first = (int64_t(batch) * PARTS + blockIdx.x) * H + head * GROUP;
  Core::each_row(state, [&](int row, float top, float sum) {
    if (row < GROUP) rows[(first + row) * 2] = top, rows[(first + row) * 2 + 1] = sum;
  });
  Core::each_pair(state, [&](int row, int column, float a, float b) {
    if (row < GROUP) store_vector(sums + (first + row) * D + column, Floats<2>{{a, b}}, 2);
  });
}

extern "C" __global__ void __launch_bounds__(128) @ENTRY@(float const* sums, float const* rows, T* y) {
  const int head = int(blockIdx.x), batch = int(blockIdx.y), d = int(threadIdx.x);
  float top = -infinity(), total = 0.0f, result = 0.0f;
  for (int part = 0; part < PARTS; ++part) top = max_nan(top, rows[((int64_t(batch) * PARTS + part) * H + head) * 2]);
  for (int part = 0; part < PARTS; ++part) {
    const int64_t at = (int64_t(batch) * PARTS + part) * H + head;
    if (rows[at * 2 + 1] == 0.0f) continue;  // it has seen nothing
    const float weight = rows[at * 2 + 1] * exp2f(rows[at * 2] - top);
    total += weight, result += weight * sums[at * D + d];
  }
  from_f32(y[(int64_t(batch) * H + head) * D + d], result / total);
}
