// A warp a row, one pass for maximum and sum, lanes merged by shuffles.
__device__ inline float share(float a, float top) { return a == minus_infinity() ? 0 : expf(a - top); }
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  const I row = (I)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float top = minus_infinity(), s = 0;
  for (I j = LO(lane); j < HI(n); j += 32) {
    const float v = IN(up(x[row * n + j])), t = larger(top, v);
    s = ACC(s * share(top, t) + share(v, t));
    top = t;
  }
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, top, o), part = __shfl_xor_sync(~0u, s, o);
    const float t = larger(top, other);
    s = ADD(s * share(top, t), part * share(other, t));
    top = t;
  }
  for (I j = lane; j < n; j += 32) y[row * n + j] = down<U>(OUT(expf(up(x[row * n + j]) - top) / s, row * n + j));
}
