// Loads and casts of every code of the narrow types, against tables built by definition and searched without skill.
struct Codes {
  std::vector<double> values;  // of the code, NaN included
};
// A floating-point type with `exponent` and `fraction` bits; `finite`: all but the last code of each sign are numbers.
static Codes codes(int exponent, int fraction, bool finite) {
  Codes table;
  const int count = 1 << (1 + exponent + fraction), top = (1 << exponent) - 1, bias = top >> 1;
  for (int code = 0; code < count; ++code) {
    const int e = code >> fraction & top, f = code & ((1 << fraction) - 1);
    const double sign = code >> (exponent + fraction) ? -1 : 1, part = f / double(1 << fraction);
    double v = e == 0 ? part * std::pow(2.0, 1 - bias) : (1 + part) * std::pow(2.0, e - bias);
    if (finite ? e == top && f == (1 << fraction) - 1 : e == top && f != 0) v = __builtin_nan("");
    if (!finite && e == top && f == 0) v = cg_inf();
    table.values.push_back(sign * v);
  }
  return table;
}
static bool same(real a, double b) { return a != a ? b != b : a == real(b) && std::signbit(a) == std::signbit(b); }

template <class T, class B>
static void loads(const char* name, const Codes& table) {
  for (size_t i = 0; i < table.values.size(); ++i)
    expect(same(cg_load(T{B(i)}).v, table.values[i]), name, "loads code " + std::to_string(i));
}

// The nearest code by trying all; of two as near, the even one.
static double searched(double x, const Codes& table, double max, bool saturates) {
  if (x != x) return x;
  if (std::fabs(x) == cg_inf()) return saturates ? std::copysign(max, x) : x;
  const int half = int(table.values.size() / 2);
  double best = 0;
  int code = 0;
  for (int i = 1; i < half && table.values[i] <= max; ++i) {
    const double to = std::fabs(table.values[i] - std::fabs(x)), from = std::fabs(best - std::fabs(x));
    if (to < from || (to == from && i % 2 == 0)) best = table.values[i], code = i;
  }
  const double step = max - table.values[code == 0 ? 0 : code - 1];
  if (best == max && std::fabs(x) >= max + step / 2) best = saturates ? max : cg_inf();
  return std::copysign(best, x);
}
template <class F>
static void casts(const char* name, const Codes& table, double max, bool saturates, F cast) {
  const auto check = [&](double x) {
    const double want = searched(x, table, max, saturates);
    const VE r = cast(VE(real(x), 0));
    expect(r.v == real(want) || (r.v != r.v && want != want), name, text(x, double(r.v), want));
    expect(r.e == 0, name, "an exact cast has an error");
  };
  const int half = int(table.values.size() / 2), stride = half > 200 ? 97 : 1;
  for (int i = 0; i + 1 < half; i += stride) {
    const double a = table.values[i], b = table.values[i + 1], middle = (a + b) / 2;
    if (!(b <= max)) break;
    for (const double x : {a, b, middle, std::nextafter(middle, 0), std::nextafter(middle, cg_inf())}) check(x), check(-x);
  }
  for (const double x : {max, max * 1.01, max * 1.2, max * 100, cg_inf()}) check(x), check(-x);
  check(__builtin_nan(""));
}
// An inexact argument: whatever a kernel has there, its rounding is inside.
template <class F>
static void hulls(const char* name, F cast) {
  for (int i = 0; i < SAMPLES; ++i) {
    const Argument a = argument(500);
    const VE r = cast(a.reference), found = cast(VE(real(a.kernel), 0));
    expect(is_right(acc(found.v), r), name, text(double(a.kernel), double(found.v), double(r.v)));
  }
}

static void floats() {
  const Codes e4m3 = codes(4, 3, true), e5m2 = codes(5, 2, false), half = codes(5, 10, false), brain = codes(8, 7, false);
  loads<f8e4m3, uint8_t>("f8e4m3", e4m3);
  loads<f8e5m2, uint8_t>("f8e5m2", e5m2);
  loads<f16, uint16_t>("f16", half);
  loads<bf16, uint16_t>("bf16", brain);
  casts("f8e4m3", e4m3, 448, true, [](VE a) { return cg_cast_f8e4m3(a); });
  casts("f8e5m2", e5m2, 57344, true, [](VE a) { return cg_cast_f8e5m2(a); });
  casts("f16", half, 65504, false, [](VE a) { return cg_cast_f16(a); });
  casts("bf16", brain, 0x1.fep127, false, [](VE a) { return cg_cast_bf16(a); });
  hulls("f8e4m3", [](VE a) { return cg_cast_f8e4m3(a); });
  hulls("f8e5m2", [](VE a) { return cg_cast_f8e5m2(a); });
  hulls("f16", [](VE a) { return cg_cast_f16(a); });
  hulls("bf16", [](VE a) { return cg_cast_bf16(a); });
  hulls("f32", [](VE a) { return cg_cast_f32(a); });
  hulls("f64", [](VE a) { return cg_cast_f64(a); });
}

static int64_t slowly_truncated(double x, int64_t low, int64_t high) {
  if (x != x) return 0;
  int64_t n = 0;
  while (n < high && double(n + 1) <= x) ++n;
  while (n > low && double(n - 1) >= x) --n;
  return n;
}
static void whole_numbers() {
  for (int code = 0; code < 256; ++code) {
    const unsigned char byte = (unsigned char)code;
    const int low = code % 16, high = code / 16;
    expect(cg_load_u4(&byte, 0).v == low && cg_load_u4(&byte, 1).v == high, "u4", "loads");
    expect(cg_load_i4(&byte, 0).v == (low < 8 ? low : low - 16), "i4", "loads the low half");
    expect(cg_load_i4(&byte, 1).v == (high < 8 ? high : high - 16), "i4", "loads the high half");
    expect(cg_load((signed char)code).v == (code < 128 ? code : code - 256), "i8", "loads");
    expect(cg_load(byte).v == code, "u8", "loads");
  }
  for (double x : {-1e300, -300.5, -129.0, -128.5, -8.9, -1.5, -0.5, 0.0, 0.99, 7.5, 8.0, 15.99, 127.9, 255.5, 1e300}) {
    expect(cg_cast_i8(VE(x, 0)).v == slowly_truncated(x, -128, 127), "cast i8");
    expect(cg_cast_u8(VE(x, 0)).v == slowly_truncated(x, 0, 255), "cast u8");
    expect(cg_cast_i4(VE(x, 0)).v == slowly_truncated(x, -8, 7), "cast i4");
    expect(cg_cast_u4(VE(x, 0)).v == slowly_truncated(x, 0, 15), "cast u4");
  }
  expect(cg_cast_i32(VE(__builtin_nan(""), 0)).v == 0 && cg_cast_i32(VE(1e10, 0)).v == INT32_MAX, "cast i32");
  expect(cg_cast_i64(VE(-1e30, 0)).v == INT64_MIN && cg_cast_i64(VE(1e30, 0)).v == INT64_MAX, "cast i64");
  expect(cg_cast_i8(cg_int(300)).v == 127 && cg_cast_u8(cg_int(-3)).v == 0, "cast of an integer");
  expect(cg_cast_f8e4m3(cg_int(19)).v == 20 && cg_cast_f8e4m3(cg_int(1000)).v == 448, "cast of an integer to f8");
}

int main() {
  floats();
  whole_numbers();
  return report("elements");
}
