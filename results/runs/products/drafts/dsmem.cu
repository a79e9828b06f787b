// dsmem.cu: split-K of 2, 4 or 8 within a cluster: a CTA's partial tile stays in its shared memory, and each CTA adds a share of the
// tile from all of them in split order. Grid (splits * n tiles, m tiles), cluster (splits, 1).
// Faults: FAULT_C half the cluster leaves without waiting for who still reads its shared memory; FAULT_E a split without k tiles leaves
// the partial of before; FAULT_F bf16 partials; FAULT_G k tail dropped; FAULT_H x read before the dependency wait.
#include "mma_sync.cuh"
#include "finish.cuh"

CUTE_DEVICE float4 load_remote(float const* at, int rank) {
  float4 v{};
  uint32_t to = 0;
  DEVICE_ASM("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(cast_smem_ptr_to_uint(at)), "r"(rank));
  DEVICE_ASM("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(to) : "memory");
  return v;
}

template <class C, int SPLITS, class Y>
__global__ __launch_bounds__(C::THREADS) void cluster_k(bf16 const* x, bf16 const* w, Y* y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  float* tile = reinterpret_cast<float*>(smem);
  const int rank = block_rank_in_cluster(), m0 = blockIdx.y * C::BT, n0 = blockIdx.x / SPLITS * C::BW, tid = threadIdx.x;
  const Range r = Range::of(k, C::BK, rank, SPLITS);
  grid_release();
#ifdef FAULT_E
  if (r.begin < r.end)
#endif
  mma_tile<C, true>(smem, x, w, m, n, k, m0, n0, r.begin, r.end);
  grid_wait();
  using F = Finish<C::WK, C::BW, C::BT, C::LINE, C::THREADS>;
  const int rows = m - m0 < C::BT ? m - m0 : C::BT;
  F::each(tid, rows, [&](int, int t, int c) { put(tile + t * C::LINE + c, narrowed(F::sum(tile, t, c))); });
  cluster_sync();
  constexpr int SHARE = F::QUADS * C::BT / SPLITS;
  CUTE_UNROLL
  for (int i = 0; i < ceil_div(SHARE, C::THREADS); ++i) {
    const int q = rank * SHARE + tid + i * C::THREADS, t = q / F::QUADS, c = q % F::QUADS * 4;
    if (tid + i * C::THREADS >= SHARE || t >= rows) break;
    float4 v = load_remote(tile + t * C::LINE + c, 0);
    CUTE_UNROLL
    for (int s = 1; s < SPLITS; ++s) v = v + load_remote(tile + t * C::LINE + c, s);
    if (n0 + c < n) put(y + int64_t(m0 + t) * n + n0 + c, v);
  }
#ifdef FAULT_C
  if (rank >= SPLITS / 2) return;
#endif
  cluster_sync();  // others still read this CTA's shared memory
}

using D1 = Mma<64, 16, 64, 3, 4, 1, 1>;
using D2 = Mma<32, 8, 128, 3, 1, 1, 4>;
#ifdef __CUDACC_RTC__
#ifndef POINT
#define POINT D1
#endif
template __global__ void cluster_k<POINT, 4, float>(bf16 const*, bf16 const*, float*, int, int, int);
#else
#include "host.hpp"

template <class C, int SPLITS>
void point(char const* name, Problem& p) {
  const dim3 grid(ceil_div(p.n, C::BW) * SPLITS, ceil_div(p.m, C::BT));
  test((std::string(name) + " split " + std::to_string(SPLITS)).c_str(), p, true, [&](bool pdl) {
    launch(cluster_k<C, SPLITS, float>, grid, C::THREADS, C::SMEM, SPLITS, pdl, (bf16 const*)p.x, (bf16 const*)p.w, (float*)p.y, p.m, p.n, p.k);
  });
}

int main(int argc, char** argv) {
  start("dsmem", argc, argv);
  for (auto [m, n, k] : shapes({{20, 136, 264}}, {{20, 136, 264}, {1, 64, 1032}, {200, 264, 2056}, {16, 4096, 4096}})) {
    Problem p(m, n, k);
    point<D1, 2>("D1", p);
    point<D1, 4>("D1", p);
    point<D1, 8>("D1", p);
    point<D2, 4>("D2", p);
  }
  return finish();
}
#endif
