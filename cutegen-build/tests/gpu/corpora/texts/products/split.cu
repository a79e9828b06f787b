// split.cu: split-K over workspace. Grid (splits * half of the n tiles, m tiles); each half of a launch has the counters of the
// other. The last to arrive at a tile adds the f32 partials in split order.
// Faults: FAULT_D counter not put back; FAULT_E a split without k tiles leaves its partial as it was; FAULT_F b16 partials;
// FAULT_G k tail dropped; FAULT_H x read before the dependency wait.

using S1 = Mma<64, 16, 64, 3, 4, 1, 1>;

extern "C" __global__ __launch_bounds__(S1::THREADS) void candidate(b16 const* x, b16 const* w, float* y, float4* work, int* count, int64_t m,
                                                                    int64_t n, int64_t k, int64_t half) {
  extern __shared__ __align__(1024) unsigned char smem[];
  using C = S1;
  constexpr int splits = 3;
  const int split = blockIdx.x % splits, tile = blockIdx.x / splits, tiles = gridDim.x / splits;
  const int m0 = blockIdx.y * C::BT, n0 = (tile + int(half) * tiles) * C::BW;
  const Range r = Range::of(int(k), C::BK, split, splits);
  grid_release();
  mma_tile<C, false>(smem, x, w, int(m), int(n), int(k), m0, n0, r.begin, r.end);
  Finish<C::WK, C::BW, C::BT, C::LINE, C::THREADS>::run(reinterpret_cast<float const*>(smem), y, work, count, int(m), int(n), m0, n0, split,
                                                        splits, r.begin == r.end, threadIdx.x, tile + tiles * blockIdx.y, [] { __syncthreads(); });
}
