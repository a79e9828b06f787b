// Checks of host.hpp against plain loops in long double.
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

// The error of a sum: of 16 + 3 + log2(n / 256) roundings at most, of any part of it.
static void sums() {
  std::mt19937 draw(1);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  for (int64_t n : {0, 1, 7, 8, 9, 255, 256, 257, 1000, 4096, 65537, 1 << 20}) {
    std::vector<float> x(size_t(n) + 1);
    for (float& v : x) v = uniform(draw);
    long double expected = 0;
    for (int64_t i = 0; i < n; ++i) expected += x[size_t(i)];
    const float got = kit::blocked_sum(n, [&](int64_t i) { return x[size_t(i)]; });
    const double roundings = 32 + 3 + std::log2(double(n) / 256 + 1) + 1;
    check(std::fabs(double(got - expected)) <= roundings * 0x1p-24 * double(expected), "a sum of " + std::to_string(n));
    // Each term once: whole numbers are exact.
    check(n >= 1 << 20 || kit::blocked_sum(n, [](int64_t i) { return float(i % 5); }) == float(n / 5 * 10 + (n % 5) * (n % 5 - 1) / 2),
          "terms of " + std::to_string(n));
  }
  // Chains of one term after another stop at 2^24, eight of them at 2^27.
  check(kit::blocked_sum(1 << 28, [](int64_t) { return 1.0f; }) == 0x1p28f, "a long sum");
}

static void maxima() {
  const float inf = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> rows = {{1, 3, 3, 2}, {-inf, -inf}, {2, none, 5, none}, {none, 1}, {4}, {1, inf, inf}};
  const int at[] = {1, 0, 1, 0, 0, 1};
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto term = [&](int64_t i) { return rows[r][size_t(i)]; };
    const float most = kit::blocked_max(int64_t(rows[r].size()), term), expected = rows[r][size_t(at[r])];
    check(kit::first_max(int64_t(rows[r].size()), term) == at[r], "first_max of row " + std::to_string(r));
    check(most == expected || (most != most && expected != expected), "blocked_max of row " + std::to_string(r));
  }
  check(kit::blocked_max(0, [](int64_t) { return 1.0f; }) == -inf, "of nothing");
  check(kit::min_nan(none, 1) != kit::min_nan(none, 1) && kit::min_nan(2, 1) == 1, "min_nan");
}

// Every 16-bit float stays itself; floats between two go to the nearer, at ties to the even one.
template <class T>
static void elements(float (*value)(unsigned)) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const T from{uint16_t(bits)};
    T to;
    const float x = kit::to_f32(from), expected = value(bits);
    kit::from_f32(to, x);
    check(x != x ? expected != expected && kit::to_f32(to) != kit::to_f32(to) : x == expected && to.bits == bits, "16 bits " + std::to_string(bits));
    if ((bits & 0x7fff) == 0x7fff || !std::isfinite(x) || !std::isfinite(value(bits + 1))) continue;
    const float above = value(bits + 1), half = x + (above - x) / 2;
    kit::from_f32(to, half);
    check(to.bits == (bits % 2 == 0 ? bits : bits + 1), "a tie");
    kit::from_f32(to, std::nextafter(half, above));
    check(to.bits == bits + 1, "beyond a tie");
  }
}
static float brain(unsigned bits) {
  const unsigned exponent = bits >> 7 & 255, tail = bits & 127;
  const float size = exponent == 255 ? (tail ? NAN : INFINITY) : std::ldexp(float(exponent ? tail + 128 : tail), int(exponent ? exponent : 1) - 134);
  return bits & 0x8000 ? -size : size;
}
static float half(unsigned bits) {
  const unsigned exponent = bits >> 10 & 31, tail = bits & 1023;
  const float size = exponent == 31 ? (tail ? NAN : INFINITY) : std::ldexp(float(exponent ? tail + 1024 : tail), int(exponent ? exponent : 1) - 25);
  return bits & 0x8000 ? -size : size;
}

int main() {
  sums();
  maxima();
  elements<kit::bf16>(brain);
  elements<kit::f16>(half);
  const float values[] = {0, 126.9f, 200, -127.9f, -1e30f, NAN, -0.999f};
  const int expected[] = {0, 126, 127, -127, -128, 0, 0};
  for (int i = 0; i < 7; ++i) {
    int8_t to;
    kit::from_f32(to, values[i]);
    check(to == expected[i], "a cast of " + std::to_string(values[i]));
  }
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
