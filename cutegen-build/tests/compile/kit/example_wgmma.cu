// A product by warpgroups, of factors in either order.
using namespace kit;

template <class T, class Mma, class LoadA, class LoadB, int STAGES>
__device__ __forceinline__ void product(T const* a, T const* b, T* y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  using Loop = WgmmaProduct<Mma, LoadA, LoadB, STAGES>;
  const auto tile = TileOrder::of(blockIdx.x, ceil_div(m, Mma::M), ceil_div(n, Mma::N));
  const int m0 = tile.m * Mma::M, n0 = tile.n * Mma::N;
  typename Mma::Accumulators sums;
  sums.clear();
  Loop::run(sums, {a, LoadA::K_MAJOR ? k : m, m0, m, k}, {b, LoadB::K_MAJOR ? k : n, n0, n, k}, memory, 0, ceil_div(k, Mma::K));
  Mma::template each_vector<8>(sums, memory, [&](int row, int column, Floats<8> const& v) {
    if (m0 + row < m) store_vector(y + int64_t(m0 + row) * n + n0 + column, v, n - n0 - column);
  });
}

using B = __nv_bfloat16;
extern "C" __global__ void __launch_bounds__(256) wide(B const* a, B const* b, B* y, int m, int n, int k) {
  product<B, TiledWgmma<B, 128, 256, 64, 2>, Rows<B>, Rows<B>, 4>(a, b, y, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128) columns(__half const* a, __half const* b, __half* y, int m, int n, int k) {
  product<__half, TiledWgmma<__half, 128, 128, 64, 1>, Columns<__half>, Columns<__half>, 4>(a, b, y, m, n, k);
}
