// What the checks share: seeded random numbers, arguments with errors, and a count of what left its bound.
#include <cstdio>
#include <limits>
#include <random>
#include <set>
#include <string>

using acc = scalar_t;
static std::mt19937_64 engine(20240613);
static int failures = 0;
static const int SAMPLES = 10000;

static double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
static int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
static bool chance(double p) { return uniform(0, 1) < p; }

static void expect(bool holds, const std::string& name, const std::string& what = "") {
  if (holds) return;
  ++failures;
  static std::set<std::string> told;  // the first of each check
  if (told.insert(name).second) std::printf("FAILED %s %s\n", name.c_str(), what.c_str());
}
static std::string text(double a, double b, double c) {
  char line[120];
  std::snprintf(line, sizeof line, "%.17g, %.17g, %.17g", a, b, c);
  return line;
}

// Whether a kernel's result is right by the value and error of the reference.
static bool is_right(acc found, VE expected) {
  if (expected.e == cg_inf()) return true;
  if (expected.v != expected.v || found != found) return expected.v != expected.v && found != found;
  return expected.v == real(found) || mag(expected.v - real(found)) <= expected.e;
}
static bool is_right(int64_t found, IV expected) {
  return expected.e == UNKNOWN || size_of(wide(found) - expected.v) <= expected.e;
}

// Errors are doubles: where those are subnormal, they are too coarse to say anything of f64. So f64 stays above.
static const int LOWEST = sizeof(acc) == 4 ? -149 : -980;

// A number as kernels meet them: ordinary, near an integer or half of one, tiny, subnormal, large within `most`.
static double number(double most) {
  const double sign = chance(0.5) ? -1 : 1;
  switch (whole(0, 7)) {
    case 0: return sign * std::ldexp(uniform(1, 2), int(whole(-20, 0)));
    case 1: return sign * std::ldexp(uniform(1, 2), LOWEST + int(whole(0, 30)));
    case 2: return sign * 0.5 * double(whole(0, 8)) * (1 + uniform(-1, 1) * std::ldexp(1.0, int(whole(-24, -1))));
    case 3: return sign * most * uniform(0, 1);
    case 4: return sign * most * std::ldexp(1.0, int(whole(-20, 0)));
    case 5: return 0.5 * double(whole(-8, 8));
    default: return sign * uniform(0, 4);
  }
}

// What the reference holds, and what a kernel holds there: within the error.
struct Argument {
  VE reference;
  acc kernel;
};
static Argument argument(double most) {
  const acc start = acc(number(most));
  if (chance(0.25)) return {VE(real(start), 0), start};
  const double size = start == 0 ? 1 : mag(real(start)), e = std::ldexp(size, 2 - int(whole(0, 32)));
  const real v = chance(0.3) ? real(start) : real(start) + real(uniform(-0.5, 0.5) * e);
  for (int tries = 0; tries < 8; ++tries) {
    const double t = chance(0.5) ? (chance(0.5) ? 1 : -1) : uniform(-1, 1);
    const acc near = acc(v + real(t * e));
    // the end itself, in double, may lie beyond
    if (mag(real(near) - v) <= e * (1 - 1e-12)) return {VE(v, e), near};
  }
  return {VE(real(start), e), start};
}
static int report(const char* name) {
  std::printf("%s: %d failures\n", name, failures);
  return failures != 0;
}
