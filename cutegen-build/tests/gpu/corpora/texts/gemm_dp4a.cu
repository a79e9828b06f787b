// Whole numbers, four products an instruction.
extern "C" __global__ void candidate(const T* x, const T* w, U* y, I m, I n, I k) {
  const I o = INDEX;
  if (o >= m * n) return;
  const int *a = reinterpret_cast<const int*>(x + o / n * k), *b = reinterpret_cast<const int*>(w + o % n * k);
  A s = 0;
  for (I l = LO(0); l < HI(k / 4); ++l) s = ACC(__dp4a(a[l], b[l], s));
  y[o] = down<U>(OUT(s, o));
}
