// What checks of products share: values, shared memory, and the loop that a program names.
#include <algorithm>
#include <string>

template <class T>
static T one(float scale) {
  T x;
  kit::from_f32(x, scale * (float(draw() % 2001) - 1000.0f) / 1000.0f);
  return x;
}
template <class T>
static std::vector<T> drawn(size_t count, float scale = 1.0f) {
  std::vector<T> x(count + 8 + 64 / sizeof(T));
  for (T& v : x) v = one<T>(scale);
  return x;
}
template <class T>
static T* on16(std::vector<T>& x) { return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(x.data()) + 15) / 16 * 16); }
static double factor(float x) {
  uint32_t word;
  std::memcpy(&word, &x, 4);
  return __int_as_float(int(kit::ptx_tf32(word)));
}
template <class T>
static double factor(T x) { return kit::to_f32(x); }

static unsigned char* shared_memory(size_t bytes) {
  static std::vector<unsigned char> memory;
  if (memory.size() < bytes + 2048) memory.resize(bytes + 2048);
  std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xff));  // NaN where nothing was written
  return reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(memory.data()) + 1023) / 1024 * 1024);
}

// A product at extents that tiles don't divide, by vectors and by pairs.
template <class T, class Mma, int STAGES, bool A_ROWS, bool B_ROWS, template <class, class, class, int> class LoopOf>
static void product(int m, int n, int k, unsigned seed) {
  draw.seed(seed * 77 + 5);
  constexpr int EACH = kit::VECTOR<T>;
  const auto up = [](int x) { return (x + EACH - 1) / EACH * EACH; };
  const int64_t a_stride = A_ROWS ? up(k) : up(m), b_stride = B_ROWS ? up(k) : up(n);
  std::vector<T> a_all = drawn<T>(size_t(a_stride * (A_ROWS ? m : k))), b_all = drawn<T>(size_t(b_stride * (B_ROWS ? n : k)));
  T *a = on16(a_all), *b = on16(b_all);
  std::vector<float> got(size_t(m) * size_t(n), -1.0f), pairs = got;
  using LoadA = std::conditional_t<A_ROWS, kit::Rows<T>, kit::Columns<T>>;
  using LoadB = std::conditional_t<B_ROWS, kit::Rows<T>, kit::Columns<T>>;
  using Loop = LoopOf<Mma, LoadA, LoadB, STAGES>;
  const int tiles_m = kit::ceil_div(m, Mma::M), tiles_n = kit::ceil_div(n, Mma::N);
  for (int number = 0; number < tiles_m * tiles_n; ++number) {
    unsigned char* const memory = shared_memory(std::max(Loop::BYTES, Mma::PASS_BYTES));
    run_block({unsigned(Mma::THREADS), 1, 1}, seed + unsigned(number), [&] {
      const auto tile = kit::TileOrder::of(number, tiles_m, tiles_n, 2);
      const int m0 = tile.m * Mma::M, n0 = tile.n * Mma::N, tiles = kit::ceil_div(k, Mma::K);
      typename Mma::Accumulators sums;
      sums.clear();
      Loop::run(sums, {a, a_stride, m0, m, k}, {b, b_stride, n0, n, k}, memory, 0, tiles / 2);
      Loop::run(sums, {a, a_stride, m0, m, k}, {b, b_stride, n0, n, k}, memory, tiles / 2, tiles);
      Mma::template each_vector<4>(sums, memory, [&](int row, int column, kit::Floats<4> const& v) {
        for (int i = 0; i < 4; ++i) {
          if (m0 + row < m && n0 + column + i < n) got[size_t(m0 + row) * size_t(n) + size_t(n0 + column + i)] = v[i];
        }
      });
      Mma::each_pair(sums, [&](int row, int column, float x, float y) {
        for (int i = 0; i < 2; ++i) {
          if (m0 + row < m && n0 + column + i < n) pairs[size_t(m0 + row) * size_t(n) + size_t(n0 + column + i)] = i == 0 ? x : y;
        }
      });
    });
  }
  bool is_right = true, is_same = got == pairs;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int t = 0; t < k; ++t) {
        const double x = factor(A_ROWS ? a[i * a_stride + t] : a[t * a_stride + i]), y = factor(B_ROWS ? b[j * b_stride + t] : b[t * b_stride + j]);
        sum += x * y, size += std::fabs(x * y);
      }
      is_right = is_right && std::fabs(double(got[size_t(i) * size_t(n) + size_t(j)]) - sum) <= 1e-5 * size + 1e-30;
    }
  }
  const std::string at = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
  check(is_right, "product " + at), check(is_same, "pairs of product " + at);
}
