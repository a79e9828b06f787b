// Quotients by what a row divides by, against f64: of every pair of exponents, and of every divisor's fraction where a
// quotient is nearest to the tie at which the bound is least. The bound is the reference's: ROUNDINGS of the quotient and
// the underflow of one. Behind the text of a template.
static long wrong = 0;

static void quotient(float a, float b, Divisor const& by) {
  const float found = a / by, nearest = a / b;
  const double exact = double(a) / double(b), bound = ROUNDINGS * 0x1p-24 * std::fabs(exact) + 0x1p-150;
  const bool special = nearest != nearest || std::isinf(nearest) || nearest == 0;
  const bool same = nearest != nearest ? found != found : found == nearest && std::signbit(found) == std::signbit(nearest);
  const bool within = std::fabs(double(found) - exact) <= bound * (1 + 0x1p-40) && std::signbit(found) == std::signbit(nearest);
  if (special ? same : within) return;
  // a quotient that underflows may be the smallest number, and one that may overflow is not judged
  if (nearest == 0 && within) return;
  if (std::fabs(exact) * (1 + 0x1p-20) > 0x1.fffffep127 && std::fabs(found) >= 0x1.ffff00p127) return;
  if (wrong++ < 5) fprintf(stderr, "%a / %a: %a, not %a\n", a, b, found, nearest);
}

int main() {
  uint64_t state = 88172645463325252ull;
  const auto draw = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return uint32_t(state >> 20) & 0x7fffff;
  };
  const uint32_t edges[] = {0, 1, 0x400000, 0x7fffff};
  for (uint32_t high_b = 0; high_b < 512; ++high_b) {
    for (int k = 0; k < 12; ++k) {
      const float b = __uint_as_float(high_b << 23 | (k < 4 ? edges[k] : draw()));
      const Divisor by(b);
      for (uint32_t high_a = 0; high_a < 512; ++high_a) {
        for (uint32_t edge : edges) quotient(__uint_as_float(high_a << 23 | edge), b, by);
        quotient(__uint_as_float(high_a << 23 | draw()), b, by);
      }
    }
  }
  for (uint32_t fraction = 0; fraction < 1u << 23; ++fraction) {
    const float b = __uint_as_float(0x3f000000u | fraction);
    const Divisor by(b);
    float a = b;
    for (int k = 0; k < 3; ++k) {
      a = std::nextafterf(a, 4.0f);
      quotient(a, b, by);
    }
  }
  fprintf(stderr, "%ld wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
