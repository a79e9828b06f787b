// ring.cu: y[m,n] = x[m,k] * w[n,k]: TMA + mbarrier ring, a producer warpgroup, BM/64 consumer warpgroups, persistent, clusters of
// 1 or 2 along m that share w by multicast, wgmma waited for one deep, epilogue through shared memory and a TMA store.
// Faults: FAULT_A slot released one wgmma early; FAULT_B1 accumulators read before the wait; FAULT_B2 (RS) A registers overwritten
// in flight; FAULT_C half the cluster leaves early; FAULT_G k tail dropped; FAULT_H x read before the dependency wait.
#include "device.cuh"

template <int BM_, int BN_, int STAGES_, int CLUSTER_, bool RS_>
struct Ring {
  static constexpr int BM = BM_, BN = BN_, BK = 64, STAGES = STAGES_, CLUSTER = CLUSTER_, CONSUMERS = BM / 64;
  static constexpr bool RS = RS_;
  static constexpr int THREADS = 128 * (CONSUMERS + 1), BYTES = (BM + BN) * BK * 2;
  struct Shared {
    alignas(1024) bf16 x[BM * BK * STAGES];
    alignas(1024) bf16 w[BN * BK * STAGES];
    alignas(1024) bf16 y[BM * BN];
    cutlass::arch::ClusterTransactionBarrier full[STAGES];
    cutlass::arch::ClusterBarrier empty[STAGES];
  };
  static constexpr auto op() {
    using Tile = Shape<_64, Int<BN>, _16>;
    if constexpr (RS) return GMMA::rs_op_selector<bf16, bf16, float, Tile, GMMA::Major::K, GMMA::Major::K>();
    else return GMMA::ss_op_selector<bf16, bf16, float, Tile, GMMA::Major::K, GMMA::Major::K>();
  }
  using Atom = MMA_Atom<decltype(op())>;
};

struct Tiles {  // every CTA of a cluster has as many k tiles and output tiles as the others
  int pairs_m, count, k_tiles;
  template <class R>
  CUTE_HOST_DEVICE static Tiles of(R, int m, int n, int k) {
    const int pairs = ceil_div(m, R::BM * R::CLUSTER);
#ifdef FAULT_G
    return {pairs, pairs * ceil_div(n, int(R::BN)), k / R::BK};
#else
    return {pairs, pairs * ceil_div(n, int(R::BN)), ceil_div(k, int(R::BK))};
#endif
  }
};

template <class R>
CUTE_DEVICE void produce(typename R::Shared& s, TmaDescriptor const& map_x, TmaDescriptor const& map_w, Tiles const& tiles, int rank) {
  constexpr int PART = R::BN / R::CLUSTER;
#ifndef FAULT_H
  grid_wait();
#endif
  cutlass::PipelineState<R::STAGES> write(0, 1, 0);
  for (int t = blockIdx.x / R::CLUSTER; t < tiles.count; t += gridDim.x / R::CLUSTER) {
    const int row = (t % tiles.pairs_m * R::CLUSTER + rank) * R::BM, col = t / tiles.pairs_m * R::BN + rank * PART;
    for (int kt = 0; kt < tiles.k_tiles; ++kt, ++write) {
      const int i = write.index();
      uint64_t* full = reinterpret_cast<uint64_t*>(&s.full[i]);
      s.empty[i].wait(write.phase());
      s.full[i].arrive_and_expect_tx(R::BYTES);
      SM90_TMA_LOAD_2D::copy(&map_x, full, KEPT, s.x + i * R::BM * R::BK, kt * R::BK, row);
      bf16* to = s.w + (i * R::BN + rank * PART) * R::BK;
      if constexpr (R::CLUSTER == 1) SM90_TMA_LOAD_2D::copy(&map_w, full, KEPT, to, kt * R::BK, col);
      else SM90_TMA_LOAD_MULTICAST_2D::copy(&map_w, full, uint16_t((1 << R::CLUSTER) - 1), KEPT, to, kt * R::BK, col);
    }
  }
}

template <class R>
CUTE_DEVICE void consume(typename R::Shared& s, TmaDescriptor const& map_y, Tiles const& tiles, int rank) {
  const int tid = threadIdx.x - 128, lane = tid % 32, first = tid / 128 * 64;
  typename R::Atom mma;
  Tensor accum = make_tensor<float>(Shape<Shape<_2, _2, Int<R::BN / 8>>>{});  // (columns, rows 8 apart, columns 8 apart)
  Tensor sY = make_tensor(make_smem_ptr(s.y), ComposedLayout<Swizzle<3, 3, 3>, _0, Layout<Shape<Int<R::BM>, Shape<_64, Int<R::BN / 64>>>,
                                                              Stride<_64, Stride<_1, Int<R::BM * 64>>>>>{});  // (BM,BN)
  Tensor tCrX = make_tensor<bf16>(Shape<_8, Int<R::BK / 16>>{});  // RS: (MMA,MMA_K)
  auto release = [&](int i) {
    if (lane < R::CLUSTER) s.empty[i].arrive(lane);
  };
  cutlass::PipelineState<R::STAGES> read;
  grid_wait();
  for (int t = blockIdx.x / R::CLUSTER; t < tiles.count; t += gridDim.x / R::CLUSTER) {
    const int row = (t % tiles.pairs_m * R::CLUSTER + rank) * R::BM, col = t / tiles.pairs_m * R::BN;
    mma.accumulate_ = GMMA::ScaleOut::Zero;
    [[maybe_unused]] auto done = read;
    for (int kt = 0; kt < tiles.k_tiles; ++kt, ++read) {
      const int i = read.index();
      s.full[i].wait(read.phase());
      const auto x = k_major(s.x + (i * R::BM + first) * R::BK), w = k_major(s.w + i * R::BN * R::BK);
      if constexpr (R::RS) {
        Tensor sX = make_tensor(make_smem_ptr(s.x + i * R::BM * R::BK), Rows64<R::BM>{});  // (BM,BK)
        Tensor tXrX = recast<uint32_t>(tCrX);                                            // (CPY,CPY_K)
        CUTE_UNROLL
        for (int kk = 0; kk < R::BK / 16; ++kk) {
          auto const& from = reinterpret_cast<uint128_t const&>(sX(first + tid % 128 / 32 * 16 + lane % 16, kk * 16 + lane / 16 * 8));
          SM75_U32x4_LDSM_N::copy(from, tXrX(0, kk), tXrX(1, kk), tXrX(2, kk), tXrX(3, kk));
        }
        warpgroup_fence_operand(tCrX);
      }
      warpgroup_fence_operand(accum);
      warpgroup_arrive();
      CUTE_UNROLL
      for (int kk = 0; kk < R::BK / 16; ++kk) {
        if constexpr (R::RS) wgmma_rs(mma, accum, tCrX(_, kk), w + kk * 2);
        else wgmma_ss(mma, accum, x + kk * 2, w + kk * 2);
        mma.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
#ifdef FAULT_A
      release(i);
      warpgroup_wait<1>();
#else
#ifdef FAULT_B2
      warpgroup_wait<1>();
#else
      warpgroup_wait<R::RS ? 0 : 1>();  // RS: its A registers are written next
      warpgroup_fence_operand(accum);
#endif
      if (kt > 0) {
        release(done.index());
        ++done;
      }
#endif
    }
#ifndef FAULT_B1
    warpgroup_wait<0>();
    warpgroup_fence_operand(accum);
#endif
#ifndef FAULT_A
    if (tiles.k_tiles > 0) release(done.index());
#endif
    if (tid == 0) tma_store_wait<0>();  // the tile before has left shared memory
    cutlass::arch::NamedBarrier::sync(128 * R::CONSUMERS, 1);
    CUTE_UNROLL
    for (int j = 0; j < R::BN / 8; ++j) {
      CUTE_UNROLL
      for (int h = 0; h < 2; ++h) {
        reinterpret_cast<uint32_t&>(sY(first + tid % 128 / 32 * 16 + lane / 4 + 8 * h, make_coord(j % 8 * 8 + lane % 4 * 2, j / 8))) =
            pack2(accum(4 * j + 2 * h), accum(4 * j + 2 * h + 1));
      }
    }
    tma_store_fence();
    cutlass::arch::NamedBarrier::sync(128 * R::CONSUMERS, 1);
    if (tid == 0) {
      CUTE_UNROLL
      for (int j = 0; j < R::BN / 64; ++j) SM90_TMA_STORE_2D::copy(&map_y, s.y + j * R::BM * 64, col + j * 64, row);
      tma_store_arrive();
    }
#ifdef FAULT_B1
    warpgroup_wait<0>();
#endif
  }
  if (tid == 0) tma_store_wait<0>();
}

template <class R>
__global__ __launch_bounds__(R::THREADS, 1) void ring(const __grid_constant__ TmaDescriptor map_x, const __grid_constant__ TmaDescriptor map_w,
                                                      const __grid_constant__ TmaDescriptor map_y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  auto& s = *reinterpret_cast<typename R::Shared*>(smem);
  const int rank = R::CLUSTER == 1 ? 0 : int(block_rank_in_cluster());
  if (threadIdx.x == 0) {
    for (int i = 0; i < R::STAGES; ++i) {
      s.full[i].init(1);
      s.empty[i].init(4 * R::CONSUMERS * R::CLUSTER);  // one lane a warp
    }
    cutlass::arch::fence_barrier_init();
  }
  if constexpr (R::CLUSTER == 1) __syncthreads();
  else cluster_sync();
  const Tiles tiles = Tiles::of(R{}, m, n, k);
  if (threadIdx.x < 128) {
    cutlass::arch::warpgroup_reg_dealloc<40>();
    if (threadIdx.x == 0) produce<R>(s, map_x, map_w, tiles, rank);
    __syncwarp();
  } else {
    cutlass::arch::warpgroup_reg_alloc<232>();
    consume<R>(s, map_y, tiles, rank);
    __syncwarp();
  }
  if constexpr (R::CLUSTER > 1) {
#ifdef FAULT_C
    if (rank != 0) return;
#endif
    cluster_sync();  // peers still arrive at this CTA's barriers
  }
}

using R1 = Ring<128, 128, 4, 1, false>;
using R2 = Ring<128, 128, 4, 2, false>;
using R3 = Ring<64, 128, 2, 1, false>;
using R4 = Ring<128, 128, 4, 1, true>;
#ifdef __CUDACC_RTC__
#ifndef POINT
#define POINT R1
#endif
template __global__ void ring<POINT>(const __grid_constant__ TmaDescriptor, const __grid_constant__ TmaDescriptor,
                                     const __grid_constant__ TmaDescriptor, int, int, int);
#else
#include "host.hpp"

template <class R>
void point(char const* name, Problem& p) {
  auto map_x = tensor_map(p.x, p.m, p.k, R::BM, 64), map_w = tensor_map(p.w, p.n, p.k, R::BN / R::CLUSTER, 64);
  auto map_y = tensor_map(p.y, p.m, p.n, R::BM, 64);
  const int smem = sizeof(typename R::Shared);
  const int tiles = Tiles::of(R{}, p.m, p.n, p.k).count;
  for (int most : {2, sm_count() / R::CLUSTER}) {
    const int grid = std::min(tiles, most) * R::CLUSTER;
    test(name, p, false, [&](bool pdl) { launch(ring<R>, dim3(grid), R::THREADS, smem, R::CLUSTER, pdl, map_x, map_w, map_y, p.m, p.n, p.k); });
    if (small()) break;
  }
}

int main(int argc, char** argv) {
  start("ring", argc, argv);
  for (auto [m, n, k] : shapes({{136, 136, 200}}, {{136, 136, 200}, {200, 264, 296}, {1000, 520, 2056}, {64, 64, 64}, {1024, 1024, 1024}})) {
    Problem p(m, n, k);
#if !defined(FAULT_B2) && !defined(FAULT_C)
    point<R1>("coop", p);
    point<R3>("one consumer, 2 stages", p);
#endif
#if !defined(FAULT_B2)
    point<R2>("coop, cluster 2", p);
#endif
#if defined(FAULT_B2) || !defined(FAULT)
    point<R4>("RS", p);
#endif
  }
  return finish();
}
#endif
