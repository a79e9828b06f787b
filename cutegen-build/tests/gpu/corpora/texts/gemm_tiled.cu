// Tiles of 16 x 16 in shared memory.
extern "C" __global__ void candidate(const T* x, const T* w, U* y, I m, I n, I k) {
  __shared__ A a[16][17], b[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const I i = (I)blockIdx.y * 16 + ty, j = (I)blockIdx.x * 16 + tx, jw = (I)blockIdx.x * 16 + ty;
  const I end = HI(k);
  A s = 0;
  for (I from = 0; from < k; from += 16) {
    const I l = from + tx;
    a[ty][tx] = i < m && l < end ? IN(up(x[i * k + l])) : A(0);
    b[ty][tx] = jw < n && l < end ? IN(up(w[jw * k + l])) : A(0);
    __syncthreads();
    for (int e = LO(0); e < 16; ++e) s = ACC(s + a[ty][e] * b[tx][e]);
    __syncthreads();
  }
  if (i < m && j < n) y[i * n + j] = down<U>(OUT(s, i * n + j));
}
