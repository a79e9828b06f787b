// A block a row: maximum, then sum, each by a tree in shared memory.
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  __shared__ float part[128];
  const I row = blockIdx.x;
  const int me = threadIdx.x;
  float top = minus_infinity();
  for (I j = me; j < n; j += 128) top = larger(top, up(x[row * n + j]));
  part[me] = top;
  __syncthreads();
  for (int o = 64; o > 0; o /= 2) {
    if (me < o) part[me] = larger(part[me], part[me + o]);
    __syncthreads();
  }
  top = TOP(part[0]);
  __syncthreads();
  float s = 0;
  for (I j = LO(me); j < HI(n); j += 128) s = ACC(s + expf(IN(up(x[row * n + j])) - top));
  part[me] = s;
  __syncthreads();
  for (int o = 64; o > 0; o /= 2) {
    if (me < o) part[me] = ADD(part[me], part[me + o]);
    __syncthreads();
  }
  for (I j = me; j < n; j += 128) y[row * n + j] = down<U>(OUT(expf(up(x[row * n + j]) - top) / part[0], row * n + j));
}
