// A thread a row: the mean, then the squares of what is left.
extern "C" __global__ void candidate(const T* x, U* v, I m, I n) {
  const I row = INDEX;
  if (row >= m) return;
  float s = 0, q = 0;
  for (I j = LO(0); j < HI(n); ++j) s = ACC(s + up(x[row * n + j]));
  const float mean = s / DIV((float)n);
  for (I j = LO(0); j < HI(n); ++j) {
    const float d = IN(up(x[row * n + j])) - mean;
    q = ACC(q + d * d);
  }
  v[row] = down<U>(OUT(q / DIV((float)n), row));
}
