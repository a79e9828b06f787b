// A block a row, 256 elements at a time in shared memory, with what came before carried on.
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  __shared__ float part[2][256];
  const I row = blockIdx.x;
  const int me = threadIdx.x;
  float carry = 0;
  for (I from = 0; from < n; from += 256) {
    const I j = from + me;
    int now = 0;
    part[now][me] = j < HI(n) ? IN(up(x[row * n + j])) : 0;
    __syncthreads();
    for (int o = 1; o < 256; o *= 2, now ^= 1) {
      part[now ^ 1][me] = me >= o ? ADD(part[now][me], part[now][me - o]) : part[now][me];
      __syncthreads();
    }
    if (j < n) y[row * n + j] = down<U>(OUT(ADD(part[now][me], carry), row * n + j));
    carry = ADD(carry, part[now][255]);
    __syncthreads();
  }
}
