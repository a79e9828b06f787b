// A warp a row, by shuffles.
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  const I row = (I)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float s = 0;
  for (I j = LO(lane); j < HI(n); j += 32) s = ACC(s + IN(up(x[row * n + j])));
  for (int o = 16; o > 0; o /= 2) s = ADD(s, __shfl_xor_sync(~0u, s, o));
  if (lane == 0) y[row] = down<U>(OUT(s, row));
}
