// The sum of many chunks: a warp fills a ring, eight others empty it.
using namespace kit;
constexpr int STAGES = 4, BYTES = 8192, CONSUMERS = 256;

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32) chunk_sums(float const* x, float* y, int64_t chunks) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers<STAGES> barriers;
  __shared__ float slots[32];
  const Ring<STAGES, BYTES> ring{memory, barriers};
  if (threadIdx.x == 0) ring.init(CONSUMERS);
  __syncthreads();
  Turn<STAGES> turn;
  float sum = 0.0f;
  if (threadIdx.x == CONSUMERS) {
    for (int64_t i = 0; i < chunks; ++i, turn.next()) ring.prefetch(turn, x + i * (BYTES / 4), BYTES);
  } else if (threadIdx.x < CONSUMERS) {
    for (int64_t i = 0; i < chunks; ++i, turn.next()) {
      const auto v = load_vector<8>(reinterpret_cast<float const*>(ring.wait(turn)) + threadIdx.x * 8);
      ring.release(turn);
#pragma unroll
      for (int e = 0; e < 8; ++e) sum += v[e];
    }
  }
  sum = block_reduce<Sum<float>>(sum, slots);
  if (threadIdx.x == 0) y[0] = sum;
}
