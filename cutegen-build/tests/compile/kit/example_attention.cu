// Causal attention with grouped heads by mma.sync: a prefill, and a decode step whose rows are the heads of a group.
#ifndef ATTENTION
#define ATTENTION Attention
#define WARPS 4
#endif
using namespace kit;
using T = __nv_bfloat16;
constexpr int D = 128, GROUP = 4;

template <class Core>
__device__ __forceinline__ void prefill(T const* q, T const* k, T const* v, T* y, float scale, int s, int heads) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int first = (int(gridDim.x) - 1 - int(blockIdx.x)) * Core::ROWS, head = int(blockIdx.y), kv = head / GROUP, of_kv = heads / GROUP;
  const int end = ceil_div(first + Core::ROWS < s ? first + Core::ROWS : s, Core::KV);
  const auto state = Core::run(Rows<T>{q + head * D, heads * D, first, s, D}, Rows<T>{k + kv * D, of_kv * D, 0, s, D},
                               Rows<T>{v + kv * D, of_kv * D, 0, s, D}, Band{scale * LOG2E, s, -s, 0}, first, memory, 0, end);
  Core::each_pair(state, [&](int row, int column, float x, float z) {
    if (first + row < s) store_vector(y + (int64_t(first + row) * heads + head) * D + column, Floats<2>{{x, z}});
  });
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) attention(T const* q, T const* k, T const* v, T* y, float scale, int s, int heads) {
  prefill<ATTENTION<T, D, 64, WARPS>>(q, k, v, y, scale, s, heads);
}
extern "C" __global__ void __launch_bounds__(32 * WARPS) exact(T const* q, T const* k, T const* v, T* y, float scale, int s, int heads) {
#if WARPS == 4
  prefill<Attention<T, D, 64, 4, 1, 2, 2>>(q, k, v, y, scale, s, heads);
#else
  prefill<WgmmaAttention<T, D, 64, WARPS, 2, 2>>(q, k, v, y, scale, s, heads);
#endif
}
