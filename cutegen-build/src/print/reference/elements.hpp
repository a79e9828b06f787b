// Elements of tensors: how each type's bits are read, and how a value is rounded to the narrow ones.
struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };
struct f8e4m3 { uint8_t bits; };
struct f8e5m2 { uint8_t bits; };
struct bool8 { uint8_t bits; };

static inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
// Bits of a narrow type, shifted to where f32 has its exponent, and the difference of the biases as a factor:
// subnormals come out right too.
static inline Exact widened(uint32_t bits, bool negative, float factor) {
  const float magnitude = float_of(bits) * factor;
  return Exact{real(negative ? -magnitude : magnitude)};
}

static inline Exact cg_load(double x) { return Exact{real(x)}; }
static inline Exact cg_load(float x) { return Exact{real(x)}; }
static inline Exact cg_load(bf16 x) { return Exact{real(float_of(uint32_t(x.bits) << 16))}; }
static inline Exact cg_load(f16 x) {
  const uint32_t bits = uint32_t(x.bits & 0x7fff) << 13;
  // all exponent bits set: so they must be in f32
  if (bits >= 0x7c00u << 13) return widened(bits | 0x7f800000, x.bits >> 15, 1);
  return widened(bits, x.bits >> 15, 0x1p112f);
}
// OCP 8-bit floats. e4m3 has no infinities, and NaN only where all bits but the sign are set; e5m2 is half an f16.
static inline Exact cg_load(f8e4m3 x) {
  const uint32_t bits = x.bits & 0x7f;
  return bits == 0x7f ? Exact{real(__builtin_nan(""))} : widened(bits << 20, x.bits >> 7, 0x1p120f);
}
static inline Exact cg_load(f8e5m2 x) { return cg_load(f16{uint16_t(x.bits << 8)}); }

// A floating-point type: significand bits with the hidden one, exponent of its smallest normal, largest finite value.
struct Format {
  int bits, low;
  double max;
  bool saturates;
};
static constexpr Format F16 = {11, -14, 65504.0, false}, BF16 = {8, -126, 0x1.fep127, false};
static constexpr Format F8E4M3 = {4, -6, 448.0, true}, F8E5M2 = {3, -14, 57344.0, true};

// The spacing of a format's values around x.
static inline double spacing(real x, const Format& format) {
  const double size = mag(x), smallest = std::ldexp(1.0, format.low);
  uint64_t bits;
  std::memcpy(&bits, &size, 8);
  bits &= uint64_t(2047) << 52;
  double power;
  std::memcpy(&power, &bits, 8);
  return (power > smallest ? power : smallest) * std::ldexp(1.0, 1 - format.bits);
}
// To nearest, halves to even. Beyond the largest value: that value, or infinity.
static inline real nearest(real x, const Format& format) {
  if (x != x) return x;
  const real max = real(format.max), beyond = format.saturates ? max : real(cg_inf());
  if (is_infinite(x)) return x < 0 ? -beyond : beyond;
  const real step = real(spacing(x, format)), value = std::nearbyint(x / step) * step;
  return value > max ? beyond : value < -max ? -beyond : value;
}

// A demanded rounding: an exact argument gives an exact result, another anything between the rounded ends.
template <class F>
static inline VE cast_real(VE a, F round) {
  const real v = round(a.v);
  if (!is_judged(a)) return VE(v, a.e);
  return VE(v, reach(a) == 0 ? a.e : hull(v, round(a.v - a.e), round(a.v + a.e)));
}
static inline VE cg_cast_f64(VE a) { return cast_real(a, [](real x) { return real(double(x)); }); }
static inline VE cg_cast_f32(VE a) { return cast_real(a, [](real x) { return real(float(x)); }); }
static inline VE cg_cast_f16(VE a) { return cast_real(a, [](real x) { return nearest(x, F16); }); }
static inline VE cg_cast_bf16(VE a) { return cast_real(a, [](real x) { return nearest(x, BF16); }); }
static inline VE cg_cast_f8e4m3(VE a) { return cast_real(a, [](real x) { return nearest(x, F8E4M3); }); }
static inline VE cg_cast_f8e5m2(VE a) { return cast_real(a, [](real x) { return nearest(x, F8E5M2); }); }
