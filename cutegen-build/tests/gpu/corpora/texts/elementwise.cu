// One element a thread.
extern "C" __global__ void candidate(const T* x, const T* g, U* y, I m, I n) {
  const I i = INDEX;
  if (i < HI(m * n)) y[i] = down<U>(OUT(silu(IN(up(g[i]))) * IN(up(x[i])), i));
}
