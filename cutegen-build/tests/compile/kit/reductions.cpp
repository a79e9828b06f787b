// Checks of vector.cuh, reduce.cuh, online_softmax.cuh and math.cuh: each against plain loops in double, which share no code.
#include <algorithm>
#include <limits>
#include <string>

static bool near(double got, double expected, double within) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::fabs(got - expected) <= within;
}

static const float INF = std::numeric_limits<float>::infinity();
static const float NOT = std::numeric_limits<float>::quiet_NaN();
static const Index SHAPES[] = {{32, 1, 1}, {96, 1, 1}, {16, 4, 1}, {256, 1, 1}, {8, 8, 11}, {1024, 1, 1}};

// Rows by kind: what a gate draws, and what breaks reductions.
enum Kind { NORMAL, MEAN, TIES, MASKED, ALL_MASKED, ONE_NAN, TWO_NAN, ONE_INF, BOTH_INF, HUGE, KINDS };
static std::vector<float> row_of(int kind, int length, unsigned seed) {
  std::mt19937 draw(seed * 31 + unsigned(kind));
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(length));
  for (float& v : x) {
    v = normal(draw);
    if (kind == MEAN) v += 1e4f;
    if (kind == TIES) v = std::rint(v);
    if (kind == MASKED && draw() % 4 != 0) v = -INF;
    if (kind == ALL_MASKED) v = -INF;
    if (kind == HUGE) v = draw() % 2 == 0 ? 3e38f : -3e38f;
  }
  const auto at = [&] { return draw() % unsigned(length); };
  if (kind == ONE_NAN || kind == TWO_NAN) x[at()] = NOT;
  if (kind == TWO_NAN) x[at()] = NOT;
  if (kind == ONE_INF || kind == BOTH_INF) x[at()] = INF;
  if (kind == BOTH_INF) x[at()] = -INF;
  return x;
}

struct Expected {
  double sum = 0, size = 0, apart = 0, most = -INFINITY, least = INFINITY, mean, m2 = 0, total = 0;
  int greatest = -1, lowest = -1;
  explicit Expected(std::vector<float> const& x) {
    for (size_t i = 0; i < x.size(); ++i) {
      const double v = x[i];
      sum += v, size += std::fabs(v);
      most = std::isnan(v) || std::isnan(most) ? NAN : std::max(most, v);
      least = std::isnan(v) || std::isnan(least) ? NAN : std::min(least, v);
    }
    for (size_t i = x.size(); i-- > 0;) {  // from behind: the first one stays
      if (std::isnan(most) ? std::isnan(x[i]) : x[i] == most) greatest = int(i);
      if (std::isnan(least) ? std::isnan(x[i]) : x[i] == least) lowest = int(i);
    }
    mean = sum / double(x.size());
    for (float v : x) m2 += (v - mean) * (v - mean), apart += std::fabs(v - mean), total += std::exp(v - most);
  }
};

struct Results {
  float sum, most, least;
  double sum64, most64;
  kit::Place<float> greatest, lowest;
  kit::Moments<float> moments, singly;
  kit::OnlineSoftmax<> softmax, pushed;
};
static bool same(Results const& a, Results const& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// The kernel: all reductions of one row, one after another through the same slots.
template <int N>
static void reduce_row(std::vector<float> const& x, std::vector<Results>& results) {
  using namespace kit;
  __shared__ double slots64[32];
  __shared__ float slots[32];
  __shared__ Place<float> places[32];
  __shared__ Moments<float> moments[32];
  __shared__ OnlineSoftmax<> softmaxes[32];
  Results r;
  std::memset(static_cast<void*>(&r), 0, sizeof r);
  r.most = Max<float>::none(), r.least = Min<float>::none(), r.most64 = Max<double>::none();
  r.greatest = ArgMax<float>::none(), r.lowest = ArgMin<float>::none();
  r.moments = r.singly = Welford<float>::none();
  r.softmax = r.pushed = OnlineSoftmax<>::none();
  const int rank = thread_rank();
  each_vector<N>(x.data(), int64_t(x.size()), rank, block_threads(), -infinity(), [&](Floats<N> const& v, int64_t first, int count) {
    for (int i = 0; i < count; ++i) {
      r.sum += v[i], r.sum64 += double(v[i]);
      r.most = max_nan(r.most, v[i]), r.least = min_nan(r.least, v[i]), r.most64 = max_nan(r.most64, double(v[i]));
      r.greatest = ArgMax<float>::join(r.greatest, {v[i], int(first) + i});
      r.lowest = ArgMin<float>::join(r.lowest, {v[i], int(first) + i});
      r.singly = Welford<float>::join(r.singly, Welford<float>::of(v[i]));
      r.pushed.push(v[i]);
    }
    r.moments = Welford<float>::join(r.moments, Welford<float>::of<N>(v, count));
    r.softmax.template push<N>(v);
  });
  r.sum = block_reduce<Sum<float>>(r.sum, slots);
  r.most = block_reduce<Max<float>>(r.most, slots);
  r.least = block_reduce<Min<float>>(r.least, slots);
  r.sum64 = block_reduce<Sum<double>>(r.sum64, slots64);
  r.most64 = block_reduce<Max<double>>(r.most64, slots64);
  r.greatest = block_reduce<ArgMax<float>>(r.greatest, places);
  r.lowest = block_reduce<ArgMin<float>>(r.lowest, places);
  r.moments = block_reduce<Welford<float>>(r.moments, moments);
  r.singly = block_reduce<Welford<float>>(r.singly, moments);
  r.softmax = block_reduce<OnlineSoftmax<>>(r.softmax, softmaxes);
  r.pushed = block_reduce<OnlineSoftmax<>>(r.pushed, softmaxes);
  results[size_t(rank)] = r;
}

static void check_row(std::vector<float> const& x, Results const& r, std::string const& at) {
  const Expected e(x);
  const double u = 0x1p-24, n = double(x.size()), loose = (2 * std::sqrt(n) + n / 8 + 4) * u;
  const bool is_huge = e.size > 1e38 && std::isfinite(e.size);  // sums and squares overflow
  check(is_huge || near(r.sum, e.sum, loose * e.size), at + " sum");
  check(near(r.sum64, e.sum, 1e-12 * e.size), at + " sum in double");
  check(near(r.most, e.most, 0) && near(r.most64, e.most, 0) && near(r.least, e.least, 0), at + " max, min");
  check(r.greatest.index == e.greatest && r.lowest.index == e.lowest, at + " argmax, argmin");
  for (kit::Moments<float> const& m : {r.moments, r.singly}) {
    check(m.n == float(n), at + " count");
    if (is_huge) continue;
    const double of_mean = loose * e.size / n;
    check(near(m.mean, e.mean, of_mean), at + " mean");
    check(near(m.m2, e.m2, loose * e.m2 + 2 * of_mean * e.apart + n * of_mean * of_mean), at + " m2");
  }
  for (kit::OnlineSoftmax<> const& s : {r.softmax, r.pushed}) {
    for (size_t i = 0; i < x.size(); i += 1 + x.size() / 37) {
      const double weight = std::exp(x[i] - e.most) / e.total, log_weight = x[i] - e.most - std::log(e.total);
      check(near(s.weight(x[i]), weight, (loose + 64 * u) * weight + 1e-37), at + " softmax");
      check(near(s.log_weight(x[i]), float(log_weight), (loose + 64 * u) * (1 + std::fabs(log_weight))), at + " log_softmax");
    }
  }
}

static void reductions() {
  unsigned seed = 0;
  for (Index shape : SHAPES) {
    const unsigned threads = shape.x * shape.y * shape.z;
    for (int length : {1, 7, 37, 1003}) {
      for (int kind = 0; kind < KINDS; ++kind) {
        if (threads > 300 && length + kind != 37 + ONE_NAN && length + kind != 1003 + TIES) continue;  // time
        const std::vector<float> x = row_of(kind, length, ++seed);
        std::vector<Results> results(threads);
        run_block(shape, seed, [&] { seed % 2 == 0 ? reduce_row<4>(x, results) : reduce_row<8>(x, results); });
        const std::string at = std::to_string(threads) + " threads, kind " + std::to_string(kind) + ", " + std::to_string(length);
        check_row(x, results[0], at);
        check(std::all_of(results.begin(), results.end(), [&](Results const& r) { return same(r, results[0]); }), at + ": threads differ");
      }
    }
  }
}

// Groups of lanes, and integers.
template <int LANES>
static void groups_of_lanes() {
  std::vector<int> sums(64);
  std::vector<kit::Place<double>> places(64);
  run_block({64, 1, 1}, LANES, [&] {
    const int rank = kit::thread_rank();
    sums[size_t(rank)] = kit::warp_reduce<kit::Sum<int>, LANES>(rank * rank);
    places[size_t(rank)] = kit::warp_reduce<kit::ArgMax<double>, LANES>({double(rank % 3), rank});
  });
  for (int rank = 0; rank < 64; ++rank) {
    const int first = rank / LANES * LANES;
    int sum = 0, best = first;
    for (int i = first; i < first + LANES; ++i) {
      sum += i * i;
      if (i % 3 > best % 3) best = i;
    }
    check(sums[size_t(rank)] == sum && places[size_t(rank)].index == best, "groups of " + std::to_string(LANES));
  }
}

// Vectors of every type at every offset and count: what is there, and nothing else, is read and written.
template <class T, int N>
static void vectors() {
  alignas(64) T from[3 * N + 64], to[3 * N + 64];
  for (int i = 0; i < 3 * N + 64; ++i) kit::from_f32(from[i], float(i % 100) - 50);
  for (int offset = 0; offset <= 16; ++offset) {
    for (int count = -1; count <= N + 1; ++count) {
      std::memset(static_cast<void*>(to), 0x55, sizeof to);
      kit::Floats<N> x = kit::load_vector<N, kit::Cache::ONCE>(from + offset, count, -7.0f);
      bool is_right = true;
      for (int i = 0; i < N; ++i) is_right = is_right && x[i] == (i < count ? float((offset + i) % 100) - 50 : -7.0f);
      kit::store_vector<kit::Cache::ONCE>(to + offset, x, count);
      for (int i = 0; i < 3 * N + 64; ++i) {
        T left;
        std::memset(static_cast<void*>(&left), 0x55, sizeof left);
        const bool is_there = i >= offset && i < offset + std::min(count, N);
        is_right = is_right && std::memcmp(&to[i], is_there ? &from[i] : &left, sizeof(T)) == 0;
      }
      check(is_right, "vectors of " + std::to_string(N) + " at " + std::to_string(offset) + ", " + std::to_string(count));
    }
  }
}

static void conversions() {
  const float values[] = {0, -0.0f, 1, 126.9f, 127.5f, 200, -127.9f, -128.5f, -1e30f, INF, -INF, NOT, 0.999f, -0.999f};
  const int expected[] = {0, 0, 1, 126, 127, 127, -127, -128, -128, 127, -128, 0, 0, 0};
  for (int i = 0; i < 14; ++i) {
    int8_t to;
    kit::from_f32(to, values[i]);
    check(to == expected[i], "a cast to int8_t of " + std::to_string(values[i]));
  }
  check(std::isnan(kit::relu(NOT)) && kit::relu(-1) == 0 && kit::relu(2) == 2, "relu");
  for (double x = -100; x <= 100; x += 0.37) {
    const float f = float(x);
    const double d = f, s = 1 / (1 + std::exp(-d)), u = 0.7978845608028654 * (d + 0.044715 * d * d * d);
    check(near(kit::exponential<true>(f), float(std::exp(d)), (8 + std::fabs(d)) * 0x1p-23 * std::exp(d) + 0x1p-148), "exponential");
    check(near(kit::sigmoid(f), s, 8 * 0x1p-24 * s + 0x1p-148), "sigmoid");
    check(near(kit::silu(f), d * s, 8 * 0x1p-24 * std::fabs(d * s) + 1e-40), "silu");
    check(near(kit::softplus(f), d > 30 ? d : std::log1p(std::exp(d)), 1e-6 * std::max(1e-6, std::fabs(d))), "softplus");
    check(near(kit::gelu(f), 0.5 * d * (1 + std::erf(d / std::sqrt(2.0))), 4e-7 * (1 + std::fabs(d))), "gelu");
    check(near(kit::gelu_tanh(f), 0.5 * d * (1 + std::tanh(u)), 4e-7 * (1 + std::fabs(d))), "gelu_tanh");
  }
}

static void indices() {
  for (int64_t a = -40; a <= 40; ++a) {
    for (int64_t b = 1; b <= 9; ++b) {
      const int64_t down = int64_t(std::floor(double(a) / double(b)));
      check(kit::floor_div(a, b) == down && kit::floor_mod(a, b) == a - down * b, "floor_div");
      if (a >= 0) check(kit::ceil_div(a, b) == int64_t(std::ceil(double(a) / double(b))) && kit::round_up(a, b) % b == 0, "ceil_div");
    }
  }
  for (int64_t flat : {int64_t(0), int64_t(12345), (int64_t(1) << 32) + 77, int64_t(1) << 40}) {
    const int64_t extents[4] = {1 << 20, 3, 1000, 77};
    int64_t at[4];
    kit::unflatten(flat, extents, at);
    check(((at[0] * 3 + at[1]) * 1000 + at[2]) * 77 + at[3] == flat && at[1] < 3 && at[2] < 1000 && at[3] < 77, "unflatten");
    check(kit::div_mod<77>(flat).div == flat / 77 && kit::div_mod<77>(flat).mod == flat % 77, "div_mod");
  }
}

int main() {
  reductions();
  groups_of_lanes<1>(), groups_of_lanes<4>(), groups_of_lanes<32>();
  vectors<float, 1>(), vectors<float, 4>(), vectors<float, 8>(), vectors<__half, 2>(), vectors<__half, 8>();
  vectors<__nv_bfloat16, 8>(), vectors<__nv_bfloat16, 16>(), vectors<int8_t, 4>(), vectors<int8_t, 16>();
  conversions();
  indices();
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
