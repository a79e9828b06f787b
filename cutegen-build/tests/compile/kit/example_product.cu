// A product with a row's scale, by mma.sync, of each element type; and one whose factors have other orders.
using namespace kit;

template <class T, class Mma, class LoadA, class LoadB, int STAGES>
__device__ __forceinline__ void product(T const* a, T const* b, float const* scale, T* y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  using Loop = Product<Mma, LoadA, LoadB, STAGES>;
  const auto tile = TileOrder::of(blockIdx.x, ceil_div(m, Mma::M), ceil_div(n, Mma::N));
  const int m0 = tile.m * Mma::M, n0 = tile.n * Mma::N;
  typename Mma::Accumulators sums;
  sums.clear();
  Loop::run(sums, {a, LoadA::K_MAJOR ? k : m, m0, m, k}, {b, LoadB::K_MAJOR ? k : n, n0, n, k}, memory, 0, ceil_div(k, Mma::K));
  Mma::template each_vector<VECTOR<T>>(sums, memory, [&](int row, int column, Floats<VECTOR<T>> v) {
    if (m0 + row >= m) return;
#pragma unroll
    for (int i = 0; i < VECTOR<T>; ++i) v[i] *= scale[m0 + row];
    store_vector(y + int64_t(m0 + row) * n + n0 + column, v, n - n0 - column);
  });
}

using B = __nv_bfloat16;
extern "C" __global__ void __launch_bounds__(256) product_bf16(B const* a, B const* b, float const* s, B* y, int m, int n, int k) {
  product<B, TiledMma<B, 128, 128, 64, 2, 4>, Rows<B>, Rows<B>, 3>(a, b, s, y, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128, 2) product_f16(__half const* a, __half const* b, float const* s, __half* y, int m, int n, int k) {
  product<__half, TiledMma<__half, 128, 64, 32, 2, 2>, Columns<__half>, Columns<__half>, 4>(a, b, s, y, m, n, k);
}
extern "C" __global__ void __launch_bounds__(256) product_tf32(float const* a, float const* b, float const* s, float* y, int m, int n, int k) {
  product<float, TiledMma<float, 128, 128, 32, 2, 4>, Rows<float>, Rows<float>, 3>(a, b, s, y, m, n, k);
}
