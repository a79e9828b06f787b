// Whether planes of bf16 add up to an f32 value, what is not finite is in the first alone, and none that is not 0 has a first of 0.
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

static bool is_right(float value) {
  uint32_t p[PLANE_COUNT];
  pieces_of(value, p);
  for (uint32_t piece : p) {
    if (piece > 0xffffu) return false;
  }
  if (!std::isfinite(value)) {
    const bool kept = std::isnan(value) ? std::isnan(of(p[0])) : of(p[0]) == value;
    return kept && p[1] == 0 && p[2] == 0 && p[3] == 0;
  }
  if (!std::isfinite(of(p[0])) || p[3] != p[0] || (value != 0) != (of(p[0]) != 0)) return false;
  const double sum = double(of(p[0])) + of(p[1]) + of(p[2]);
  // below 2^-109 the last piece would be less than the least of bf16
  return std::fabs(sum - value) <= (std::fabs(value) < 0x1p-109f ? 0x1p-133 : 0.0);
}

int main() {
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
