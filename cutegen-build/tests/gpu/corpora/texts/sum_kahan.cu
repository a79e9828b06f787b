// A thread a row, with what each addition lost added to the next.
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  const I row = INDEX;
  if (row >= m) return;
  float s = 0, lost = 0;
  bool odd = false;
  for (I j = LO(0); j < HI(n); ++j) {
    const float v = IN(up(x[row * n + j])), a = v - lost, t = ACC(s + a);
    lost = (t - s) - a;
    odd = odd || !(lost - lost == 0);
    s = t;
    if (odd) lost = 0; // beside an infinity nothing is lost
  }
  y[row] = down<U>(OUT(s, row));
}
