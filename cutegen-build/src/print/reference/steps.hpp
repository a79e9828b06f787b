// Discontinuous steps of reals: any result that is reachable within the argument's error is right. What is surely
// decided adds nothing.

// A step that rises: over [a - e, a + e] it takes its least and largest value at the ends.
template <class F>
static inline VE rising(VE a, F f) {
  const real v = f(a.v);
  if (!is_judged(a)) return VE(v, a.e);
  return VE(v, reach(a) == 0 ? 0 : hull(v, f(a.v - a.e), f(a.v + a.e)));
}
static inline VE cg_floor(VE a) { return rising(a, [](real x) { return std::floor(x); }); }
static inline VE cg_ceil(VE a) { return rising(a, [](real x) { return std::ceil(x); }); }
static inline VE cg_round(VE a) { return rising(a, [](real x) { return std::nearbyint(x); }); }
static inline VE cg_sign(VE a) {
  return rising(a, [](real x) { return x != x ? x : real((x > 0) - (x < 0)); });
}

static inline VE cg_where(Cond c, VE a, VE b) {
  const VE taken = c.v ? a : b, other = c.v ? b : a;
  if (c.sure) return taken;
  const double e = apart(other.v, taken.v) + other.e;
  return VE(taken.v, e > taken.e ? e : taken.e);
}
static inline IV cg_where(Cond c, IV a, IV b) {
  const IV taken = c.v ? a : b, other = c.v ? b : a;
  if (c.sure) return taken;
  const wide e = size_of(wide(other.v) - taken.v) + other.e;
  return integer(taken.v, e > taken.e ? e : wide(taken.e));
}
static inline Cond cg_where(Cond c, Cond a, Cond b) {
  const Cond taken = c.v ? a : b;
  return Cond{taken.v, (c.sure && taken.sure) || (a.sure && b.sure && a.v == b.v)};
}

// Toward zero, into [low, high]; NaN gives 0.
static inline int64_t truncated(real x, int64_t low, int64_t high) {
  if (x != x) return 0;
  return x >= real(high) ? high : x <= real(low) ? low : int64_t(x);
}
static inline IV cast_integer(VE a, int64_t low, int64_t high) {
  const int64_t v = truncated(a.v, low, high);
  if (!is_judged(a)) return IV{v, UNKNOWN};
  return between(v, truncated(a.v - a.e, low, high), truncated(a.v + a.e, low, high));
}
static inline wide clamped(wide x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }
static inline IV cast_integer(IV a, int64_t low, int64_t high) {
  if (a.e == UNKNOWN) return IV{int64_t(clamped(a.v, low, high)), UNKNOWN};
  return between(clamped(a.v, low, high), clamped(wide(a.v) - a.e, low, high), clamped(wide(a.v) + a.e, low, high));
}
#define CG_CAST(NAME, LOW, HIGH)                                                 \
  static inline IV cg_cast_##NAME(VE a) { return cast_integer(a, LOW, HIGH); }   \
  static inline IV cg_cast_##NAME(IV a) { return cast_integer(a, LOW, HIGH); }
CG_CAST(i4, -8, 7)
CG_CAST(u4, 0, 15)
CG_CAST(i8, -128, 127)
CG_CAST(u8, 0, 255)
CG_CAST(i32, INT32_MIN, INT32_MAX)
CG_CAST(i64, INT64_MIN, INT64_MAX)
#undef CG_CAST
static inline Cond cg_cast_bool(VE a) { return cg_ne(a, VE(0, 0)); }
static inline Cond cg_cast_bool(IV a) { return cg_ne(a, cg_int(0)); }

static inline VE cg_cast_f64(IV a) { return cg_cast_f64(cg_real(a)); }
static inline VE cg_cast_f32(IV a) { return cg_cast_f32(cg_real(a)); }
static inline VE cg_cast_f16(IV a) { return cg_cast_f16(cg_real(a)); }
static inline VE cg_cast_bf16(IV a) { return cg_cast_bf16(cg_real(a)); }
static inline VE cg_cast_f8e4m3(IV a) { return cg_cast_f8e4m3(cg_real(a)); }
static inline VE cg_cast_f8e5m2(IV a) { return cg_cast_f8e5m2(cg_real(a)); }
