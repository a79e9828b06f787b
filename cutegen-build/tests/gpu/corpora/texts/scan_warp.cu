// A warp a row, 32 elements at a time by shuffles.
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  const I row = (I)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float carry = 0;
  for (I from = 0; from < n; from += 32) {
    const I j = from + lane;
    float s = j < HI(n) ? IN(up(x[row * n + j])) : 0;
    for (int o = 1; o < 32; o *= 2) {
      const float below = __shfl_up_sync(~0u, s, o);
      if (lane >= o) s = ADD(s, below);
    }
    if (j < n) y[row * n + j] = down<U>(OUT(ADD(carry, s), row * n + j));
    carry = ADD(carry, __shfl_sync(~0u, s, 31));
  }
}
