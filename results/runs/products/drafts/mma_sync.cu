// mma_sync.cu: small M by mma.sync, split-K over workspace. Grid (n tiles, m tiles, splits). -DPART=BT: the points of the sweep.
#include "mma_sync.cuh"
#include "finish.cuh"

template <class C>
__global__ __launch_bounds__(C::THREADS) void small_mma(bf16 const* x, bf16 const* w, bf16* y, float4* work, int* count, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const int m0 = blockIdx.y * C::BT, n0 = blockIdx.x * C::BW, split = blockIdx.z, splits = gridDim.z;
  const Range r = Range::of(k, C::BK, split, splits);
  grid_release();
  mma_tile<C, false>(smem, x, w, m, n, k, m0, n0, r.begin, r.end);
  Finish<C::WK, C::BW, C::BT, C::LINE, C::THREADS>::run(reinterpret_cast<float const*>(smem), y, work, count, m, n, m0, n0, split, splits,
                                                        r.begin == r.end, threadIdx.x, [] { __syncthreads(); });
}

#ifndef PART
#define PART 16
#endif
#ifdef __CUDACC_RTC__
#ifndef POINT
#define POINT Mma<64, PART, 128, 4, 1, 1, 4>
#endif
using P = POINT;
template __global__ void small_mma<P>(bf16 const*, bf16 const*, bf16*, float4*, int*, int, int, int);
#else
#include "sweep.hpp"

template <int BW, int BK, int STAGES, int WW, int WT, int WK>
static void add() {
  using C = Mma<BW, PART, BK, STAGES, WW, WT, WK>;
  char name[64];
  snprintf(name, sizeof name, "w%dt%dk%ds%d-%dx%dx%d", BW, PART, BK, STAGES, WW, WT, WK);
  entries().push_back({"mma", name, BW, PART, BK, C::SMEM, [](Args const& a) {
                         const dim3 grid(ceil_div(a.n, C::BW), ceil_div(a.m, C::BT), a.splits);
                         launch(small_mma<C>, grid, C::THREADS, C::SMEM, 1, false, (bf16 const*)a.x, (bf16 const*)a.w, (bf16*)a.y, (float4*)a.work,
                                a.count, a.m, a.n, a.k);
                       }});
}
static const int added = [] {
#if PART <= 16
  add<64, 128, 4, 4, 1, 1>();
  add<64, 128, 4, 2, 1, 2>();
  add<64, 128, 4, 1, 1, 4>();
  add<32, 256, 4, 1, 1, 4>();
  add<32, 256, 3, 2, 1, 4>();
  add<128, 64, 6, 4, 1, 1>();
  add<16, 256, 5, 1, 1, 4>();
  add<128, 128, 3, 4, 1, 2>();
#elif PART == 64
  add<64, 64, 6, 4, 1, 1>();
  add<64, 64, 6, 2, 2, 1>();
  add<64, 64, 4, 2, 2, 1>();
  add<64, 128, 3, 2, 2, 2>();
  add<128, 64, 4, 4, 2, 1>();
  add<128, 64, 6, 4, 2, 1>();
  add<32, 128, 4, 2, 1, 2>();
  add<32, 64, 6, 2, 2, 1>();
#else
  add<64, 64, 4, 2, 4, 1>();
  add<64, 64, 4, 2, 2, 1>();
  add<128, 64, 3, 4, 2, 1>();
  add<128, 64, 5, 4, 2, 1>();
  add<32, 64, 5, 2, 2, 1>();
  add<32, 128, 3, 2, 2, 2>();
  add<64, 128, 3, 2, 2, 2>();
  add<128, 64, 4, 2, 2, 1>();
#endif
  return 0;
}();
#endif
