// One element a thread, in order.
extern "C" __global__ void candidate(const T* x, const T* w, U* y, I m, I n, I k) {
  const I o = INDEX;
  if (o >= m * n) return;
  const I i = o / n, j = o % n;
  A s = 0;
  for (I l = LO(0); l < HI(k); ++l) s = ACC(s + IN(up(x[i * k + l])) * IN(up(w[j * k + l])));
  y[o] = down<U>(OUT(s, o));
}
