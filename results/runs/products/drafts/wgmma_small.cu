// wgmma_small.cu: small M by wgmma with operands swapped: weights on its 64 side, tokens on N; TMA ring filled by one warp, WM warpgroups
// along weights by WK along k of a stage, split-K over workspace. Grid (n tiles, m tiles, splits). -DPART=BT: the points of the sweep.
#include "finish.cuh"

template <int WM_, int WK_, int BT_, int BK_, int KB_>
struct Small {
  static constexpr int WM = WM_, WK = WK_, BW = 64 * WM, BT = BT_, BK = BK_;
  static constexpr int CONSUMERS = 128 * WM * WK, THREADS = CONSUMERS + 32;
  static constexpr int BYTES = (BW + BT) * BK * 2, FIT = KB_ * 1024 / BYTES, STAGES = FIT > 12 ? 12 : FIT;
  static constexpr int LINE = BW + 4, KI = BK / 16 / WK;
  static constexpr int RING = STAGES * BYTES, TILE = WK * BT * LINE * 4, SMEM = (RING > TILE ? RING : TILE) + STAGES * 16;
  static_assert(STAGES >= 2 && SMEM <= 227 * 1024, "shared memory");
  using Atom = MMA_Atom<decltype(GMMA::ss_op_selector<bf16, bf16, float, Shape<_64, Int<BT>, _16>, GMMA::Major::K, GMMA::Major::K>())>;
};

template <class C>
__global__ __launch_bounds__(C::THREADS) void small_wgmma(const __grid_constant__ TmaDescriptor map_x, const __grid_constant__ TmaDescriptor map_w,
                                                          bf16* y, float4* work, int* count, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  bf16* ring = reinterpret_cast<bf16*>(smem);  // a stage: (BW,64) blocks, then (BT,64) blocks
  auto* full = reinterpret_cast<cutlass::arch::ClusterTransactionBarrier*>(smem + C::SMEM - C::STAGES * 16);
  auto* empty = reinterpret_cast<cutlass::arch::ClusterBarrier*>(full + C::STAGES);
  constexpr int STAGE = C::BYTES / 2, BLOCKS = C::BK / 64;
  const int m0 = blockIdx.y * C::BT, n0 = blockIdx.x * C::BW, split = blockIdx.z, splits = gridDim.z, tid = threadIdx.x;
  const Range r = Range::of(k, C::BK, split, splits);
  if (tid == 0) {
    for (int i = 0; i < C::STAGES; ++i) {
      full[i].init(1);
      empty[i].init(C::CONSUMERS / 32);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  grid_release();
  if (tid >= C::CONSUMERS) {
    if (tid > C::CONSUMERS) return;
    auto load = [&](TmaDescriptor const& map, uint64_t hint, int i, bf16* to, int rows, int kt, int row) {
      for (int b = 0; b < BLOCKS; ++b) SM90_TMA_LOAD_2D::copy(&map, reinterpret_cast<uint64_t*>(&full[i]), hint, to + b * rows * 64, kt * C::BK + b * 64, row);
    };
    auto load_w = [&](int i, int kt) { load(map_w, STREAMED, i, ring + i * STAGE, C::BW, kt, n0); };
    auto load_x = [&](int i, int kt) { load(map_x, KEPT, i, ring + i * STAGE + C::BW * C::BK, C::BT, kt, m0); };
    const int ahead = r.end - r.begin < C::STAGES ? r.end - r.begin : C::STAGES;
    for (int i = 0; i < ahead; ++i) {
      full[i].arrive_and_expect_tx(C::BYTES);
      load_w(i, r.begin + i);  // weights do not wait for the kernel before
    }
    grid_wait();
    for (int i = 0; i < ahead; ++i) load_x(i, r.begin + i);
    cutlass::PipelineState<C::STAGES> write;
    for (int kt = r.begin + C::STAGES; kt < r.end; ++kt, ++write) {
      const int i = write.index();
      empty[i].wait(write.phase());
      full[i].arrive_and_expect_tx(C::BYTES);
      load_w(i, kt);
      load_x(i, kt);
    }
    return;
  }
  const int lane = tid % 32, wm = tid / 128 % C::WM, wk = tid / 128 / C::WM;
  typename C::Atom mma;
  Tensor accum = make_tensor<float>(Shape<Shape<_2, _2, Int<C::BT / 8>>>{});  // (tokens, weights 8 apart, tokens 8 apart)
  clear(accum);
  cutlass::PipelineState<C::STAGES> read, done;
  for (int kt = r.begin; kt < r.end; ++kt, ++read) {
    const int i = read.index();
    full[i].wait(read.phase());
    const auto a = k_major(ring + i * STAGE + wm * 64 * 64), b = k_major(ring + i * STAGE + C::BW * C::BK);
    warpgroup_fence_operand(accum);
    warpgroup_arrive();
    CUTE_UNROLL
    for (int kk = 0; kk < C::KI; ++kk) {
      const int at = wk * C::KI + kk;
      wgmma_ss(mma, accum, a + (at / 4 * (C::BW * 8) + at % 4 * 2), b + (at / 4 * (C::BT * 8) + at % 4 * 2));
    }
    warpgroup_commit_batch();
    warpgroup_wait<1>();
    warpgroup_fence_operand(accum);
    if (kt > r.begin) {
      if (lane == 0) empty[done.index()].arrive();
      ++done;
    }
  }
  warpgroup_wait<0>();
  warpgroup_fence_operand(accum);
  grid_wait();
  const auto sync = [] { cutlass::arch::NamedBarrier::sync(C::CONSUMERS, 1); };
  sync();  // the ring is free
  Tensor sC = make_tensor(make_smem_ptr(reinterpret_cast<float*>(smem)), Layout<Shape<Int<C::BW>, Int<C::BT>, Int<C::WK>>,
                                                              Stride<_1, Int<C::LINE>, Int<C::BT * C::LINE>>>{});  // (BW,BT,WK)
  CUTE_UNROLL
  for (int j = 0; j < C::BT / 8; ++j) {
    CUTE_UNROLL
    for (int v = 0; v < 4; ++v) sC(wm * 64 + tid % 128 / 32 * 16 + lane / 4 + v / 2 * 8, j * 8 + lane % 4 * 2 + v % 2, wk) = accum(4 * j + v);
  }
  sync();
  Finish<C::WK, C::BW, C::BT, C::LINE, C::CONSUMERS>::run(reinterpret_cast<float const*>(smem), y, work, count, m, n, m0, n0, split, splits,
                                                          r.begin == r.end, tid, sync);
}

#ifndef PART
#define PART 16
#endif
#ifdef __CUDACC_RTC__
#ifndef POINT
#define POINT Small<1, 1, PART, 128, 100>
#endif
using P = POINT;
template __global__ void small_wgmma<P>(const __grid_constant__ TmaDescriptor, const __grid_constant__ TmaDescriptor, bf16*, float4*, int*, int, int, int);
#else
#include "sweep.hpp"

template <int WM, int WK, int BK, int KB>
static void add() {
  using C = Small<WM, WK, PART, BK, KB>;
  char name[64];
  snprintf(name, sizeof name, "w%dt%dk%ds%d-%dx%d", C::BW, PART, BK, C::STAGES, WM, WK);
  entries().push_back({"wgmma", name, C::BW, PART, BK, C::SMEM, [](Args const& a) {
                         const dim3 grid(ceil_div(a.n, C::BW), ceil_div(a.m, C::BT), a.splits);
                         launch(small_wgmma<C>, grid, C::THREADS, C::SMEM, 1, false, tensor_map(a.x, a.m, a.k, C::BT, 64),
                                tensor_map(a.w, a.n, a.k, C::BW, 64), (bf16*)a.y, (float4*)a.work, a.count, a.m, a.n, a.k);
                       }});
}
static const int added = [] {
  add<1, 1, 64, 100>();
  add<1, 1, 128, 100>();
#if PART <= 64
  add<1, 1, 128, 72>();
#else
  add<1, 2, 64, 100>();
#endif
  add<1, 1, 128, 200>();
  add<2, 1, 64, 100>();
  add<2, 1, 128, 200>();
  add<1, 2, 128, 100>();
  add<1, 2, 128, 200>();
  return 0;
}();
#endif
