// contract:
// steps = [{ entry = "@ENTRY@", grid = ["ceil_div(s, 16 * WARPS)", 32, "b"], block = ["32 * WARPS"],
//   smem = "WARPS * 4096 + STAGES * KV * 512", args = ["ptr(q)", "ptr(k)", "ptr(v)", "ptr(y)", "scalar(scale)", "axis(s)"] }]
// eligibility = "q aligned 16 and k aligned 16 and v aligned 16"
// tiles = { s = [64, 128] }
// sweep: WARPS = 4 | 8
// sweep: KV = 64 | 128
// sweep: STAGES = 2 | 3
#include <kit/wgmma.cuh>
#include <cstdint>
using namespace kit;
using T = __nv_bfloat16;
constexpr int D = 128, H = 32, KH = 8;
using Core = WgmmaAttention<T, D, KV, WARPS, STAGES>;
static_assert(Core::BYTES == WARPS * 4096 + STAGES * KV * 512 && Core::ROWS == 16 * WARPS, "as the launch has it");

// Causal attention, four query heads a key head. Bound by tensor cores and exponentials; the longest rows start first.
extern "C" __global__ void __launch_bounds__(32 * WARPS) @ENTRY@(T const* q, T const* k, T const* v, T* y, float scale, int64_t s) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int n = int(s), first = (int(gridDim.x) - 1 - int(blockIdx.x)) * Core::ROWS, head = int(blockIdx.y);
  const int64_t of_q = (int64_t(blockIdx.z) * n * H + head) * D, of_k = (int64_t(blockIdx.z) * n * KH + head / (H / KH)) * D;
  const int keys = first + Core::ROWS < n ? first + Core::ROWS : n;
  const auto state = Core::run(Rows<T>{q + of_q, H * D, first, n, D}, Rows<T>{k + of_k, KH * D, 0, n, D},
                               Rows<T>{v + of_k, KH * D, 0, n, D}, Band{scale * LOG2E, n, -n, 0}, first, memory, 0,
                               ceil_div(keys, KV));
  Core::each_pair(state, [&](int row, int column, float a, float b) {
    if (first + row < n) store_vector(y + of_q + int64_t(first + row) * (H * D) + column, Floats<2>{{a, b}}, 2);
  });
}
