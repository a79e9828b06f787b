// A warp a row.
extern "C" __global__ void candidate(const T* x, const T* w, U* y, I m, I n, float eps) {
  const I row = (I)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float s = 0;
  for (I j = LO(lane); j < HI(n); j += 32) {
    const float v = IN(up(x[row * n + j]));
    s = ACC(s + v * v);
  }
  for (int o = 16; o > 0; o /= 2) s = ADD(s, __shfl_xor_sync(~0u, s, o));
  const float r = rsqrtf(s / DIV((float)n) + EPS(eps));
  for (I j = lane; j < n; j += 32)
    y[row * n + j] = down<U>(OUT(IN(up(x[row * n + j])) * r * IN(up(w[j])), row * n + j));
}
