// One element a thread, four sums side by side, from the end.
extern "C" __global__ void candidate(const T* x, const T* w, U* y, I m, I n, I k) {
  const I o = INDEX;
  if (o >= m * n) return;
  const I i = o / n, j = o % n;
  A s[4] = {0, 0, 0, 0};
  for (I l = HI(k); l-- > LO(0);) s[l % 4] = ACC(s[l % 4] + IN(up(x[i * k + l])) * IN(up(w[j * k + l])));
  y[o] = down<U>(OUT(ADD(ADD(s[0], s[1]), ADD(s[2], s[3])), o));
}
