// A block a row: neighbours in pairs, in shared memory.
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  __shared__ float part[256];
  const I row = blockIdx.x;
  const int me = threadIdx.x;
  float s = 0;
  for (I j = LO(me); j < HI(n); j += 256) s = ACC(s + IN(up(x[row * n + j])));
  part[me] = s;
  __syncthreads();
  for (int o = 1; o < 256; o *= 2) {
    if (me % (2 * o) == 0) part[me] = ADD(part[me], part[me + o]);
    __syncthreads();
  }
  if (me == 0) y[row] = down<U>(OUT(part[0], row));
}
