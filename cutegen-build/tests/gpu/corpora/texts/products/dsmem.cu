// dsmem.cu: split-K of 2, 4 or 8 within a cluster: a CTA's partial tile stays in its shared memory, and each CTA adds a share of the
// tile from all of them in split order. Grid (splits * n tiles, m tiles), cluster (splits, 1).
// Faults: FAULT_C half the cluster leaves while others still read its shared memory; FAULT_E a split without k tiles leaves
// the partial of before; FAULT_F b16 partials; FAULT_G k tail dropped; FAULT_H x read before the dependency wait.

CUTE_DEVICE float4 load_remote(float const* at, int rank) {
  float4 v{};
  uint32_t to = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(cast_smem_ptr_to_uint(at)), "r"(rank));
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(to) : "memory");
  return v;
}

using D1 = Mma<64, 16, 64, 3, 4, 1, 1>;

extern "C" __global__ __launch_bounds__(D1::THREADS) void candidate(b16 const* x, b16 const* w, float* y, int64_t m_, int64_t n_, int64_t k_) {
  using C = D1;
  constexpr int SPLITS = 4;
  const int m = int(m_), n = int(n_), k = int(k_);
  extern __shared__ __align__(1024) unsigned char smem[];
  float* tile = reinterpret_cast<float*>(smem);
  const int rank = block_rank_in_cluster(), m0 = blockIdx.y * C::BT, n0 = blockIdx.x / SPLITS * C::BW, tid = threadIdx.x;
  const Range r = Range::of(k, C::BK, rank, SPLITS);
  grid_release();
#ifdef FAULT_E
  if (r.begin < r.end)
#endif
  mma_tile<C, false>(smem, x, w, m, n, k, m0, n0, r.begin, r.end);
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
