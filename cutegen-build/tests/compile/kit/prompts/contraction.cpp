// What the example of the class contraction computes.
static void contraction(int b, int m, int n, int k, unsigned seed) {
  draw.seed(seed);
  std::vector<T> x_all = drawn<T>(size_t(b * m * k)), w_all = drawn<T>(size_t(b * n * k));
  T *x = on16(x_all), *w = on16(w_all);
  std::vector<float> r(size_t(b * m), 0.5f);
  for (size_t i = 0; i < r.size(); ++i) r[i] += float(i % 7);
  std::vector<T> y(size_t(b * m * n));
  for (unsigned block = 0; block < unsigned(b * kit::ceil_div(m, 128) * kit::ceil_div(n, 128)); ++block) {
    blockIdx = {block, 0, 0};
    emulated_memory = shared_memory(Loop::BYTES);
    run_block({256, 1, 1}, seed + block, [&] { kernel(x, w, r.data(), y.data(), m, n, k); });
  }
  for (int i = 0; i < b * m * n; ++i) {
    const int row = i / n, batch = row / m;
    double sum = 0, size = 1e-30;
    for (int t = 0; t < k; ++t) {
      const double p = factor(x[row * k + t]) * factor(w[(batch * n + i % n) * k + t]);
      sum += p, size += std::fabs(p);
    }
    const double expected = sum * double(r[size_t(row)]);
    check(std::fabs(double(kit::to_f32(y[size_t(i)])) - expected) <= std::fabs(expected) / 250 + 1e-5 * size, "row " + std::to_string(row));
  }
}

int main() {
  contraction(2, 130, 70, 72, 1), contraction(1, 5, 200, 64, 2), contraction(3, 1, 1, 8, 3);
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
