// Whether planes of bf16 add up to an f32 value, what is not finite is in the first alone, none that is not 0 has a first of 0, and
// products up to the largest f32 stay finite.
// `pieces_of` of `wgmma_planes.cuh.in` stands in between.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#define CG_DEVICE static
#define CUTE_UNROLL
static uint32_t __float_as_uint(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
static float __uint_as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
@PIECES@
static float of(uint32_t piece) { return __uint_as_float(piece << 16); }

template <bool HALVED>
static bool adds_up(float value) {
  uint32_t p[PLANE_COUNT];
  pieces_of<HALVED>(value, p);
  for (uint32_t piece : p) {
    if (piece > 0xffffu) return false;
  }
  if (!std::isfinite(value)) {
    const bool kept = std::isnan(value) ? std::isnan(of(p[0])) : of(p[0]) == value;
    return kept && p[1] == 0 && p[2] == 0 && p[3] == 0;
  }
  const float high = HALVED ? 2 * of(p[0]) : of(p[0]);
  if (!std::isfinite(high) || of(p[3]) != high || (value != 0) != (high != 0)) return false;
  const double sum = double(high) + of(p[1]) + of(p[2]);
  // below 2^-109 the last piece would be less than the least of bf16
  return std::fabs(sum - value) <= (std::fabs(value) < 0x1p-109f ? 0x1p-133 : 0.0);
}

static bool is_right(float value) { return adds_up<false>(value) && adds_up<true>(value); }

// A product as the main loop sums it: five small ones, which the tensor core adds, then that of the high pieces, at its scale.
static bool multiplies(float a, float b) {
  uint32_t p[PLANE_COUNT], q[PLANE_COUNT];
  pieces_of<true>(a, p);
  pieces_of<false>(b, q);
  const double small = double(of(p[3])) * of(q[2]) + double(of(p[2])) * of(q[3]) + double(of(p[1])) * of(q[1]) +
                       double(of(p[3])) * of(q[1]) + double(of(p[1])) * of(q[3]);
  const float sum = std::fmaf(2.0f, float(double(of(p[0])) * of(q[0])), float(small));
  return std::fabs(sum - double(a) * b) <= 0x1p-22 * std::fabs(double(a) * b);
}

// Factors whose product is less than the largest f32 by at most 2^-8.
static bool multiplies_at_the_edge() {
  uint32_t bits = 7;
  const auto drawn = [&bits] { return (bits = bits * 1664525u + 1013904223u) / 0x1p32; };
  int passed = 0;  // high pieces whose product is too large
  for (int n = 0; n < 100000; ++n) {
    const float a = std::ldexp(float(1 + drawn()), int(drawn() * 120)), b = float(0x1.fffffep127 * (1 - drawn() / 256) / a);
    if (std::fabs(double(a) * b) > 0x1.fffffep127) continue;
    if (!multiplies(a, b) || !multiplies(b, -a)) return fprintf(stderr, "%a times %a\n", a, b), false;
    uint32_t p[PLANE_COUNT], q[PLANE_COUNT];
    pieces_of<false>(a, p);
    pieces_of<false>(b, q);
    passed += double(of(p[0])) * of(q[0]) > 0x1.fffffep127;
  }
  if (passed < 1000) fprintf(stderr, "%d high pieces pass the largest f32\n", passed);
  return passed >= 1000;
}

int main() {
  if (!multiplies_at_the_edge()) return 1;
  uint32_t bits = 1;
  for (int n = 0; n < 4000000; ++n) {
    bits = bits * 1664525u + 1013904223u;
    if (!is_right(__uint_as_float(bits))) return fprintf(stderr, "%08x\n", bits), 1;
  }
  for (uint32_t one : {0u, 0x80000000u, 1u, 0x80000001u, 0x007fffffu, 0x00800000u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u,
                       0x7f800001u, 0xffffffffu, 0x3f7fffffu, 0x3f808000u, 0x3f818000u}) {
    if (!is_right(__uint_as_float(one))) return fprintf(stderr, "%08x\n", one), 1;
  }
}
