// kit/wgmma.cuh: the same products by warpgroups, which multiply from shared memory while threads go on; sm_90a.
//
// Loaders and epilogues as in product.cuh. Lines are of 128 bytes: K, and M or N of a factor that is not K_MAJOR, are
// multiples of 64. T is of 16 bits.
#include <kit/attention.cuh>
#include <kit/product.cuh>
#include <kit/ptx_wgmma.cuh>
namespace kit {

template <class T>
constexpr bool IS_BF16 = false;
template <>
constexpr bool IS_BF16<__nv_bfloat16> = true;

template <class After>
constexpr bool IS_STEP = true;
template <>
constexpr bool IS_STEP<NoStep> = false;

// Where a factor's 16 of k lie, from a row on that is a multiple of 64.
template <class Tile>
__device__ __forceinline__ MatrixAt matrix_of(SharedAt tile, int row, int k) {
  static_assert(Tile::WIDTH == 8 && Tile::EACH == 8, "lines of 128 bytes, 16-bit elements");
  const int line = Tile::IS_K_MAJOR ? row : k, column = Tile::IS_K_MAJOR ? k : row;
  return ptx_matrix(tile + column / 64 * (Tile::LINES * 128) + line * 128 + column % 64 * 2, Tile::LINES * 128);
}

/// As TiledMma, of GROUPS warpgroups with M / GROUPS rows each, a multiple of 64; N is 64, 96, 128, 192 or 256. Here WARPS_M is
/// 4 GROUPS, WARPS_N 1.
template <class T_, int M_, int N_, int K_, int GROUPS>
struct TiledWgmma : BlockSums<M_, N_, 4 * GROUPS, 1, true> {
  using T = T_;
  static constexpr int M = M_, N = N_, K = K_, R = M / GROUPS / 64;
  using typename BlockSums<M_, N_, 4 * GROUPS, 1, true>::Accumulators;
  static_assert(sizeof(T) == 2 && R * GROUPS * 64 == M && K % 64 == 0, "whole instructions of 16-bit elements");

  // Starts the product of a stage.
  template <class TileA, class TileB>
  __device__ __forceinline__ static void start(Accumulators& sums, SharedAt a, SharedAt b) {
    const int first = thread_rank() / 128 * (R * 64);
    ptx_wgmma_hold<R * N / 2>(&sums.d[0][0][0]);
    ptx_wgmma_begin();
#pragma unroll
    for (int k = 0; k < K; k += 16) {
#pragma unroll
      for (int i = 0; i < R; ++i) {
        Wgmma<N>::template start<IS_BF16<T>, TileA::IS_K_MAJOR, TileB::IS_K_MAJOR>(
            &sums.d[i][0][0], matrix_of<TileA>(a, first + i * 64, k), matrix_of<TileB>(b, 0, k), true);
      }
    }
    ptx_wgmma_commit();
  }
};

/// The loop of a TiledWgmma, used as Product; the same BYTES.
template <class Mma, class LoadA, class LoadB, int STAGES = 4>
struct WgmmaProduct {
  using Ring = ProductRing<Mma, LoadA, LoadB, STAGES>;
  static constexpr int BYTES = Ring::BYTES;
  static_assert(STAGES >= 3, "two stages are read, one is on its way");

  // Adds the sum over tiles [begin, end) of k to `sums`. All threads call; memory is free on return.
  template <class After = NoStep>
  __device__ __forceinline__ static void run(typename Mma::Accumulators& sums, LoadA const& load_a, LoadB const& load_b,
                                             unsigned char* memory, int begin, int end, After const& after = {}) {
    Ring ring(load_a, load_b, memory, end);
#pragma unroll
    for (int s = 0; s < STAGES - 2; ++s) ring.fetch(s, begin + s), ring.put(s, begin + s);
    int slot = 0, next = STAGES - 2;
#pragma unroll 1
    for (int tile = begin; tile < end; ++tile) {
      wait_loads<STAGES - 3>();
      ptx_bulk_fence();  // what this thread has copied, for tensor cores
      __syncthreads();   // and everyone is through with the tile before the last
      Mma::template start<typename Ring::TileA, typename Ring::TileB>(sums, ring.a(slot), ring.b(slot));
      ring.fetch(next, tile + STAGES - 2);
      ptx_wgmma_wait<IS_STEP<After> ? 0 : 1>();
      if constexpr (IS_STEP<After>) {
        ptx_wgmma_hold<Mma::R * Mma::N / 2>(&sums.d[0][0][0]);
        after(tile);
      }
      ring.put(next, tile + STAGES - 2);
      slot = slot + 1 == STAGES ? 0 : slot + 1;
      next = next + 1 == STAGES ? 0 : next + 1;
    }
    ptx_wgmma_wait<0>();
    ptx_wgmma_hold<Mma::R * Mma::N / 2>(&sums.d[0][0][0]);
    wait_loads<0>();
    __syncthreads();
  }
};

// Both products of attention.
template <class A>
struct WgmmaProducts {
  using T = typename A::T;
  static_assert(A::R == 1 && A::WARPS % 4 == 0, "whole warpgroups");
  __device__ __forceinline__ static void arrive() { ptx_bulk_fence(); }
  __device__ __forceinline__ static void score(Sums<1, A::S>& s, SharedAt q, SharedAt keys) {
    start(s, q, keys);
    settle<A::KV / 2>(&s.d[0][0][0]);
  }
  // Until settle, others read and write nothing of `s`.
  __device__ __forceinline__ static void start(Sums<1, A::S>& s, SharedAt q, SharedAt keys) {
    float* const d = &s.d[0][0][0];
    ptx_wgmma_hold<A::KV / 2>(d);
    ptx_wgmma_begin();
#pragma unroll
    for (int k = 0; k < A::D; k += 16) {
      Wgmma<A::KV>::template start<IS_BF16<T>, true, true>(d, matrix_of<typename A::TileQ>(q, thread_rank() / 128 * 64, k),
                                                           matrix_of<typename A::TileK>(keys, 0, k), k > 0);
    }
    ptx_wgmma_commit();
  }
  __device__ __forceinline__ static void add(Sums<1, A::O>& o, Sums<1, A::S> const& s, SharedAt values) {
    float* const d = &o.d[0][0][0];
    uint32_t p[A::S / 2][A::PARTS][1][4];
#pragma unroll
    for (int k = 0; k < A::S; k += 2) A::split(p[k / 2], s, k);
    ptx_wgmma_hold<A::S / 2 * A::PARTS * 4>(&p[0][0][0][0]);
    ptx_wgmma_hold<A::D / 2>(d);
    ptx_wgmma_begin();
#pragma unroll
    for (int k = 0; k < A::KV; k += 16) {
#pragma unroll
      for (int part = 0; part < A::PARTS; ++part) {
        Wgmma<A::D>::template start_held<IS_BF16<T>, false>(d, p[k / 16][part][0], matrix_of<typename A::TileV>(values, 0, k));
      }
    }
    ptx_wgmma_commit();
    settle<A::D / 2>(d);
  }
  template <int COUNT>
  __device__ __forceinline__ static void settle(float* d) {
    ptx_wgmma_wait<0>();
    ptx_wgmma_hold<COUNT>(d);
  }
};

template <>
constexpr bool STARTS_AHEAD<WgmmaProducts> = true;

/// Attention by warpgroups: WARPS is 4, 8 or 12, with 16 rows each; D is 64 or 128, KV 64, 96, 128, 192 or 256. With 3 STAGES
/// a tile's scores are formed beside the softmax of the tile before.
template <class T, int D, int KV, int WARPS, int STAGES = 2, int P_PARTS = 1>
using WgmmaAttention = Attention<T, D, KV, WARPS, 1, STAGES, P_PARTS, WgmmaProducts>;

}  // namespace kit
