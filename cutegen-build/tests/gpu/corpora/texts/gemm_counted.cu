// Four parts of k into workspace; of each tile the last block to arrive adds them in order, and puts the counter back.
extern "C" __global__ void candidate(const T* x, const T* w, U* y, A* part, unsigned* arrived, I m, I n, I k) {
  __shared__ bool is_last;
  const I o = INDEX, z = blockIdx.y, step = (k + 3) / 4;
  if (o < m * n) {
    const I i = o / n, j = o % n, end = (z + 1) * step < k ? (z + 1) * step : k;
    A s = 0;
    for (I l = LO(z * step); l < HI(end); ++l) s = ACC(s + IN(up(x[i * k + l])) * IN(up(w[j * k + l])));
    part[z * m * n + o] = s;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(arrived + blockIdx.x, 1u) == 3;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  if (threadIdx.x == 0) arrived[blockIdx.x] = 0;
  if (o >= m * n) return;
  A s = 0;
  for (I p = LO(0); p < 4; ++p) s = ACC(s + part[p * m * n + o]);
  y[o] = down<U>(OUT(s, o));
}
