// Attention against plain loops in double: keys in pages, bands, and values that are no numbers.
enum Special { NONE, NAN_VALUE, INF_VALUE, NAN_KEY, NAN_QUERY, SPECIALS };

// Attention of `queries` over pages of keys, row r seeing keys r + shift + low to r + shift.
template <class T>
struct Pages {
  using T_ = T;
  using Held = kit::Nothing;
  static constexpr bool K_MAJOR = true;
  T const* data;
  int const* pages;
  int keys, d;
  struct Line {
    T const* at;
    bool in;
  };
  __device__ Line line(int key) const {
    const bool in = key < keys;
    return {data + (in ? (pages[key / 16] * 16 + key % 16) * d : 0), in};
  }
  __device__ Held fetch(void* to, Line const& line, int at) const {
    kit::load16_async(to, line.at + at, line.in);
    return {};
  }
  __device__ void put(void*, Held) const {}
};

template <class Core>
static void attention(int queries, int keys, int low, int shift, Special special, unsigned seed) {
  using T = typename Core::T;
  constexpr int D = Core::D;
  draw.seed(seed * 13 + 1);
  const int pages = (keys + 15) / 16;
  std::vector<T> q_all = drawn<T>(size_t(queries * D), 2.0f), k_all = drawn<T>(size_t(pages * 16 * D)), v_all = drawn<T>(size_t(pages * 16 * D));
  T *q = on16(q_all), *k = on16(k_all), *v = on16(v_all);
  std::vector<int> page(static_cast<size_t>(pages));
  for (int i = 0; i < pages; ++i) page[size_t(i)] = i;
  std::shuffle(page.begin(), page.end(), draw);
  const auto at = [&](int key) { return (page[size_t(key / 16)] * 16 + key % 16) * D; };
  const int place = int(draw() % unsigned(keys)), dim = int(draw() % D);
  if (special == NAN_VALUE) kit::from_f32(v[at(place) + dim], NAN);
  if (special == INF_VALUE) kit::from_f32(v[at(place) + dim], INFINITY);
  if (special == NAN_KEY) kit::from_f32(k[at(place) + dim], NAN);
  if (special == NAN_QUERY) kit::from_f32(q[int(draw() % unsigned(queries)) * D + dim], NAN);
  const float scale = 1.0f / std::sqrt(float(D));
  std::vector<float> got(size_t(queries * D), -7.0f), tops(static_cast<size_t>(queries), -7.0f), sums = tops;
  for (int first = 0; first < queries; first += Core::ROWS) {
    unsigned char* const memory = shared_memory(Core::BYTES);
    run_block({unsigned(Core::THREADS), 1, 1}, seed + unsigned(first), [&] {
      const kit::Band scores{scale * kit::LOG2E, keys, shift + low, shift};
      const int last = std::min(first + Core::ROWS - 1 + shift + 1, keys), begin = std::max(first + shift + low, 0) / Core::KV;
      const auto state = Core::run(kit::Rows<T>{q, D, first, queries, D}, Pages<T>{k, page.data(), keys, D}, Pages<T>{v, page.data(), keys, D},
                                   scores, first, memory, begin, kit::ceil_div(last, Core::KV));
      Core::each_row(state, [&](int row, float top, float sum) {
        if (first + row < queries) tops[size_t(first + row)] = top, sums[size_t(first + row)] = sum;
      });
      Core::each_pair(state, [&](int row, int column, float x, float y) {
        if (first + row >= queries) return;
        got[size_t((first + row) * D + column)] = x, got[size_t((first + row) * D + column + 1)] = y;
      });
    });
  }
  for (int r = 0; r < queries; ++r) {
    std::vector<double> weight(static_cast<size_t>(keys), 0.0);
    double top = -INFINITY, total = 0;
    const auto sees = [&](int t) { return t - r >= shift + low && t - r <= shift; };
    for (int t = 0; t < keys; ++t) {
      if (!sees(t)) continue;
      double dot = 0;
      for (int d = 0; d < D; ++d) dot += double(kit::to_f32(q[r * D + d])) * double(kit::to_f32(k[at(t) + d]));
      weight[size_t(t)] = dot * scale;
      top = std::isnan(top) || std::isnan(dot) ? NAN : std::max(top, weight[size_t(t)]);
    }
    for (int t = 0; t < keys; ++t) {
      if (sees(t)) total += weight[size_t(t)] = std::exp(weight[size_t(t)] - top);
    }
    const float row_top = tops[size_t(r)], row_sum = sums[size_t(r)];
    bool is_right = std::isnan(top) ? std::isnan(row_sum) : std::fabs(row_top - top * 1.4426950408889634) <= 1e-4 && std::fabs(row_sum - total) <= 1e-4 * total;
    for (int d = 0; d < D; ++d) {
      double sum = 0, size = 0;
      for (int t = 0; t < keys; ++t) {
        if (!sees(t)) continue;
        const double p = weight[size_t(t)] * double(kit::to_f32(v[at(t) + d]));
        sum += p, size += std::fabs(p);
      }
      const double expected = sum / total, found = got[size_t(r * D + d)], bound = Core::ROUNDING * size / total + 1e-6;
      is_right = is_right && (std::isnan(expected) ? std::isnan(found) : std::isinf(expected) ? found == expected : std::fabs(found - expected) <= bound);
    }
    check(is_right, "attention of row " + std::to_string(r) + ", " + std::to_string(keys) + " keys, special " + std::to_string(special));
  }
}
