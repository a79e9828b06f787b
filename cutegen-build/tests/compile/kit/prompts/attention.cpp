// What the example of the class attention computes, at one query and key too, and with a NaN in a query.
static void attention(int s, int t, bool special, unsigned seed) {
  constexpr int D = 64;
  draw.seed(seed);
  std::vector<T> q_all = drawn<T>(size_t(s * D)), k_all = drawn<T>(size_t(t * D)), v_all = drawn<T>(size_t(t * D)), bias = drawn<T>(size_t(s * t));
  T *q = on16(q_all), *k = on16(k_all), *v = on16(v_all);
  if (special) kit::from_f32(q[(s / 2) * D + 3], NAN);
  std::vector<T> y(size_t(s * D));
  for (unsigned block = 0; block < unsigned(kit::ceil_div(s, Core::ROWS)); ++block) {
    blockIdx = {block, 0, 0};
    emulated_memory = shared_memory(Core::BYTES);
    run_block({128, 1, 1}, seed + block, [&] { kernel(q, k, v, bias.data(), y.data(), s, t); });
  }
  for (int i = 0; i < s; ++i) {
    std::vector<double> weight(static_cast<size_t>(t), 0.0);
    double top = -INFINITY, total = 0;
    for (int j = 0; j < t; ++j) {
      for (int d = 0; d < D; ++d) weight[size_t(j)] += factor(q[i * D + d]) * factor(k[j * D + d]);
      weight[size_t(j)] += factor(bias[size_t(i * t + j)]);
      top = std::isnan(top) || std::isnan(weight[size_t(j)]) ? NAN : std::max(top, weight[size_t(j)]);
    }
    for (double& w : weight) total += w = std::exp(w - top);
    for (int d = 0; d < D; ++d) {
      double sum = 0, size = 0;
      for (int j = 0; j < t; ++j) sum += weight[size_t(j)] * factor(v[j * D + d]), size += std::fabs(weight[size_t(j)] * factor(v[j * D + d]));
      const double expected = sum / total, found = kit::to_f32(y[size_t(i * D + d)]);
      check(std::isnan(expected) ? std::isnan(found) : std::fabs(found - expected) <= std::fabs(expected) / 250 + 1e-4 * size / total + 1e-30, "query " + std::to_string(i));
    }
  }
}

int main() {
  attention(70, 130, false, 1), attention(64, 64, true, 2), attention(1, 1, false, 3);
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
