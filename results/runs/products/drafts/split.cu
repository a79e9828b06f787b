// split.cu: split-K over workspace. Grid (n tiles, m tiles, splits). The last to arrive at a tile adds the f32 partials in split order.
// Faults: FAULT_D counter not put back; FAULT_E a split without k tiles leaves its partial as it was; FAULT_F bf16 partials;
// FAULT_G k tail dropped; FAULT_H x read before the dependency wait.
#include "mma_sync.cuh"
#include "finish.cuh"

template <class C, class Y>
__global__ __launch_bounds__(C::THREADS) void split_k(bf16 const* x, bf16 const* w, Y* y, float4* work, int* count, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const int m0 = blockIdx.y * C::BT, n0 = blockIdx.x * C::BW, split = blockIdx.z, splits = gridDim.z;
  const Range r = Range::of(k, C::BK, split, splits);
  grid_release();
  mma_tile<C, true>(smem, x, w, m, n, k, m0, n0, r.begin, r.end);
  Finish<C::WK, C::BW, C::BT, C::LINE, C::THREADS>::run(reinterpret_cast<float const*>(smem), y, work, count, m, n, m0, n0, split, splits,
                                                        r.begin == r.end, threadIdx.x, [] { __syncthreads(); });
}

using S1 = Mma<64, 16, 64, 3, 4, 1, 1>;
using S2 = Mma<32, 8, 128, 3, 1, 1, 4>;
#ifdef __CUDACC_RTC__
#ifndef POINT
#define POINT S1
#endif
template __global__ void split_k<POINT, bf16>(bf16 const*, bf16 const*, bf16*, float4*, int*, int, int, int);
#else
#include "host.hpp"

template <class C>
void point(char const* name, Problem& p, int splits) {
  const dim3 grid(ceil_div(p.n, C::BW), ceil_div(p.m, C::BT), splits);
  const size_t bytes = size_t(grid.x) * grid.y * splits * C::BW * C::BT * 4;
  float4* work;
  int* count;
  CHECK(cudaMalloc(&work, bytes));
  CHECK(cudaMalloc(&count, grid.x * grid.y * 4));
  if (!small()) CHECK(cudaMemset(work, 0xff, bytes));  // small shapes are for initcheck too
  CHECK(cudaMemset(count, 0, grid.x * grid.y * 4));
  test((std::string(name) + " split " + std::to_string(splits)).c_str(), p, true, [&](bool pdl) {
    launch(split_k<C, float>, grid, C::THREADS, C::SMEM, 1, pdl, (bf16 const*)p.x, (bf16 const*)p.w, (float*)p.y, work, count, p.m, p.n, p.k);
  });
  std::vector<int> after(grid.x * grid.y);
  CHECK(cudaMemcpy(after.data(), count, after.size() * 4, cudaMemcpyDeviceToHost));
  for (int c : after) g.counters += c != 0;
  cudaFree(work), cudaFree(count);
}

int main(int argc, char** argv) {
  start("split", argc, argv);
  for (auto [m, n, k] : shapes({{20, 136, 264}}, {{20, 136, 264}, {1, 64, 1032}, {200, 264, 2056}, {16, 4096, 4096}})) {
    Problem p(m, n, k);
    for (int splits : {1, 3, 8}) {
      point<S1>("S1", p, splits);
      point<S2>("S2", p, splits);
    }
  }
  return finish();
}
#endif
