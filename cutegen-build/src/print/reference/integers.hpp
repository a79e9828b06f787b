// Integers, conditions, and where they meet reals. An integer is exact until a discontinuous step makes it from a
// real: then e says how far another reachable value may be. e = INT64_MAX means: not judged.
struct IV { int64_t v, e; };
// sure: no reachable value of what was compared decides otherwise.
struct Cond { bool v, sure; };

using wide = __int128;
static constexpr int64_t UNKNOWN = INT64_MAX;
static inline wide size_of(wide x) { return x < 0 ? -x : x; }
static inline int64_t bounded(wide e) { return e < wide(UNKNOWN) ? int64_t(e) : UNKNOWN; }
static inline IV integer(wide v, wide e) {
  const bool fits = v >= INT64_MIN && v <= INT64_MAX;
  return IV{int64_t(v), fits ? bounded(e) : UNKNOWN};
}
// The value v of a step that may give anything from low to high.
static inline IV between(wide v, wide low, wide high) { return integer(v, high - v > v - low ? high - v : v - low); }

// Arithmetic of indices: plain numbers.
static inline int64_t cg_mod(int64_t a, int64_t b) { const int64_t r = a % b; return r < 0 ? r + b : r; }
static inline int64_t cg_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t cg_imin(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t cg_imax(int64_t a, int64_t b) { return a > b ? a : b; }

static inline IV cg_int(int64_t x) { return IV{x, 0}; }
static inline IV cg_load(signed char x) { return cg_int(x); }
static inline IV cg_load(unsigned char x) { return cg_int(x); }
static inline IV cg_load(int x) { return cg_int(x); }
static inline IV cg_load(long x) { return cg_int(x); }
static inline IV cg_load(long long x) { return cg_int(x); }
static inline Cond cg_load(bool8 x) { return Cond{x.bits != 0, true}; }
// Two to a byte, the first in the low half.
static inline int nibble(const unsigned char* base, int64_t element) {
  return base[element >> 1] >> (element & 1 ? 4 : 0) & 15;
}
static inline IV cg_load_u4(const unsigned char* base, int64_t element) { return cg_int(nibble(base, element)); }
static inline IV cg_load_i4(const unsigned char* base, int64_t element) {
  return cg_int((nibble(base, element) ^ 8) - 8);
}

static inline IV operator-(IV a) { return integer(-wide(a.v), a.e); }
static inline IV operator+(IV a, IV b) { return integer(wide(a.v) + b.v, wide(a.e) + b.e); }
static inline IV operator-(IV a, IV b) { return integer(wide(a.v) - b.v, wide(a.e) + b.e); }
static inline IV operator*(IV a, IV b) {
  const bool judged = a.e != UNKNOWN && b.e != UNKNOWN;
  const wide mixed = judged ? size_of(a.v) * b.e / 2 + size_of(b.v) * a.e / 2 : wide(UNKNOWN);
  if (mixed >= wide(UNKNOWN)) return integer(wide(a.v) * b.v, UNKNOWN);
  return integer(wide(a.v) * b.v, size_of(a.v) * b.e + size_of(b.v) * a.e + wide(a.e) * b.e);
}
static inline IV cg_abs(IV a) { return integer(size_of(a.v), a.e); }
static inline IV cg_max(IV a, IV b) {
  const wide high = wide(a.v) + a.e > wide(b.v) + b.e ? wide(a.v) + a.e : wide(b.v) + b.e;
  const wide low = wide(a.v) - a.e > wide(b.v) - b.e ? wide(a.v) - a.e : wide(b.v) - b.e;
  if (a.e == UNKNOWN || b.e == UNKNOWN) return IV{a.v > b.v ? a.v : b.v, UNKNOWN};
  return between(a.v > b.v ? a.v : b.v, low, high);
}
static inline IV cg_min(IV a, IV b) { return -cg_max(-a, -b); }
static inline int sign_of(wide x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static inline IV cg_sign(IV a) { return between(sign_of(a.v), sign_of(wide(a.v) - a.e), sign_of(wide(a.v) + a.e)); }
// The non-negative remainder. Across a multiple of the divisor every remainder is reachable.
static inline IV cg_rem(IV a, IV b) {
  if (a.e == UNKNOWN || b.e >= b.v) return IV{b.v > 0 ? cg_mod(a.v, b.v) : 0, UNKNOWN};
  const int64_t r = cg_mod(a.v, b.v);
  if (b.e == 0 && a.e <= r && a.e <= b.v - 1 - r) return IV{r, a.e};
  return b.e == 0 && a.e == 0 ? cg_int(r) : between(r, 0, wide(b.v) + b.e - 1);
}

// Exact if the accumulation type holds it.
static inline VE cg_real(IV a) {
  const VE v = constant(real(a.v));
  const double left = a.e == UNKNOWN ? cg_inf() : double(a.e);
  const bool exact = real(scalar_t(a.v)) == real(a.v) && size_of(a.v) <= wide(1) << 62 && int64_t(real(a.v)) == a.v;
  return VE(v.v, exact ? left : left + U_ACC * (mag(v.v) + left));
}

// Surely decided where the difference exceeds both errors, or where there are none.
static inline bool decided(VE a, VE b) { return (reach(a) == 0 && reach(b) == 0) || mag(a.v - b.v) > a.e + b.e; }
static inline bool decided(IV a, IV b) {
  if (a.e == UNKNOWN || b.e == UNKNOWN) return false;
  return (a.e == 0 && b.e == 0) || (a.v > b.v ? wide(a.v) - b.v : wide(b.v) - a.v) > wide(a.e) + b.e;
}
static inline Cond cg_lt(VE a, VE b) { return Cond{a.v < b.v, decided(a, b)}; }
static inline Cond cg_le(VE a, VE b) { return Cond{a.v <= b.v, decided(a, b)}; }
static inline Cond cg_gt(VE a, VE b) { return Cond{a.v > b.v, decided(a, b)}; }
static inline Cond cg_ge(VE a, VE b) { return Cond{a.v >= b.v, decided(a, b)}; }
static inline Cond cg_eq(VE a, VE b) { return Cond{a.v == b.v, decided(a, b)}; }
static inline Cond cg_ne(VE a, VE b) { return Cond{a.v != b.v, decided(a, b)}; }
static inline Cond cg_lt(IV a, IV b) { return Cond{a.v < b.v, decided(a, b)}; }
static inline Cond cg_le(IV a, IV b) { return Cond{a.v <= b.v, decided(a, b)}; }
static inline Cond cg_gt(IV a, IV b) { return Cond{a.v > b.v, decided(a, b)}; }
static inline Cond cg_ge(IV a, IV b) { return Cond{a.v >= b.v, decided(a, b)}; }
static inline Cond cg_eq(IV a, IV b) { return Cond{a.v == b.v, decided(a, b)}; }
static inline Cond cg_ne(IV a, IV b) { return Cond{a.v != b.v, decided(a, b)}; }
static inline Cond cg_not(Cond a) { return Cond{!a.v, a.sure}; }
static inline Cond cg_and(Cond a, Cond b) {
  return Cond{a.v && b.v, (a.sure && b.sure) || (a.sure && !a.v) || (b.sure && !b.v)};
}
static inline Cond cg_or(Cond a, Cond b) { return cg_not(cg_and(cg_not(a), cg_not(b))); }
