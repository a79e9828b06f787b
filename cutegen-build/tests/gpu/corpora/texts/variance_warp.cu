// A warp a row: the mean, then the squares of what is left, by shuffles.
extern "C" __global__ void candidate(const T* x, U* v, I m, I n) {
  const I row = (I)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float s = 0;
  for (I j = LO(lane); j < HI(n); j += 32) s = ACC(s + up(x[row * n + j]));
  for (int o = 16; o > 0; o /= 2) s = ADD(s, __shfl_xor_sync(~0u, s, o));
  const float mean = s / DIV((float)n);
  float q = 0;
  for (I j = LO(lane); j < HI(n); j += 32) {
    const float d = IN(up(x[row * n + j])) - mean;
    q = ACC(q + d * d);
  }
  for (int o = 16; o > 0; o /= 2) q = ADD(q, __shfl_xor_sync(~0u, q, o));
  if (lane == 0) v[row] = down<U>(OUT(q / DIV((float)n), row));
}
