// What the example of the class fused graph computes, in its two launches.
static void fused_graph(int m, int n, int k, bool special, unsigned seed) {
  draw.seed(seed);
  std::vector<T> x_all = drawn<T>(size_t(m * k)), w_all = drawn<T>(size_t(n * k));
  T *x = on16(x_all), *w = on16(w_all);
  if (special) kit::from_f32(w[(n / 2) * k + 1], NAN);
  std::vector<float> bias(static_cast<size_t>(n)), parts(size_t(kit::ceil_div(n, 128) * m), NAN), y(static_cast<size_t>(m));
  for (float& v : bias) v = float(draw() % 100) / 50.0f - 3.0f;
  for (unsigned block = 0; block < unsigned(kit::ceil_div(m, 128) * kit::ceil_div(n, 128)); ++block) {
    blockIdx = {block, 0, 0};
    emulated_memory = shared_memory(Loop::BYTES);
    run_block({256, 1, 1}, seed + block, [&] { kernel_parts(x, w, bias.data(), parts.data(), m, n, k); });
  }
  for (unsigned block = 0; block < unsigned(kit::ceil_div(m, 128)); ++block) {
    blockIdx = {block, 0, 0};
    run_block({128, 1, 1}, seed + block, [&] { kernel(parts.data(), y.data(), m, n); });
  }
  for (int i = 0; i < m; ++i) {
    double most = -INFINITY;
    for (int j = 0; j < n; ++j) {
      double sum = bias[size_t(j)];
      for (int t = 0; t < k; ++t) sum += factor(x[i * k + t]) * factor(w[j * k + t]);
      most = std::isnan(most) || std::isnan(sum) ? NAN : std::max(most, sum);
    }
    check(std::isnan(most) ? std::isnan(y[size_t(i)]) : std::fabs(y[size_t(i)] - most) <= 1e-4, "row " + std::to_string(i));
  }
}

int main() {
  fused_graph(130, 200, 72, false, 1), fused_graph(128, 128, 64, true, 2), fused_graph(1, 1, 8, false, 3), fused_graph(400, 130, 8, false, 4), fused_graph(500, 5, 16, true, 5);
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
