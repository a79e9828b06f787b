// Four parts of k into workspace, then their sum.
extern "C" __global__ void candidate(const T* x, const T* w, A* part, I m, I n, I k) {
  const I o = INDEX, z = blockIdx.y, step = (k + 3) / 4;
  if (o < m * n) {
    const I i = o / n, j = o % n, end = (z + 1) * step < k ? (z + 1) * step : k;
    A s = 0;
    for (I l = LO(z * step); l < HI(end); ++l) s = ACC(s + IN(up(x[i * k + l])) * IN(up(w[j * k + l])));
    part[z * m * n + o] = s;
  }
  DONE;
}
extern "C" __global__ void candidate_sum(const A* part, U* y, I m, I n) {
  READY;
  const I o = INDEX;
  if (o >= m * n) return;
  A s = 0;
  for (I z = LO(0); z < 4; ++z) s = ACC(s + part[z * m * n + o]);
  y[o] = down<U>(OUT(s, o));
}
