// A thread a row, in one pass: Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", 1962.
extern "C" __global__ void candidate(const T* x, U* v, I m, I n) {
  const I row = INDEX;
  if (row >= m) return;
  float mean = 0, q = 0;
  for (I j = 0; j < HI(n); ++j) {
    const float a = IN(up(x[row * n + j])), d = a - mean;
    mean += d / DIV((float)(j + 1));
    q = ACC(q + d * (a - mean));
  }
  v[row] = down<U>(OUT(q / DIV((float)n), row));
}
