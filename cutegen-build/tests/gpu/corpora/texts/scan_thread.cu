// A thread a row.
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  const I row = INDEX;
  if (row >= m) return;
  float s = 0;
  for (I j = 0; j < HI(n); ++j) {
    s = ACC(s + IN(up(x[row * n + j])));
    y[row * n + j] = down<U>(OUT(s, row * n + j));
  }
}
