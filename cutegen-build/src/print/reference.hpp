// Running error analysis: a value with the error that a kernel at the spec's precision may have there.
//
// This file: reals and their arithmetic. Beside it, in reference/: elements and casts, integers and conditions,
// functions, steps (discontinuous ones), reductions. All of them print into one translation unit, in that order,
// after the definitions of real, scalar_t, U_ACC, ETA_ACC, ACC_MAX, CHAIN, LONGEST, DRIFTING and FAST_MATH. U_ACC and ETA_ACC are the unit
// roundoff and the underflow of the accumulation type, ACC_MAX its largest finite value.
//
// An infinite error means: not judged. It stays infinite whatever is computed from it, and the value beside it is only
// what the formula gives. A NaN or an infinity with a finite error is sure: every kernel has it there.

static inline double cg_inf() { return __builtin_inf(); }

// Fast math knows approximations of f32 only. It flushes subnormal results and arguments to zero
// (nvcc: -use_fast_math implies -ftz=true).
static constexpr double MIN_NORMAL = 0x1p-126;
static constexpr bool CG_FAST = FAST_MATH && sizeof(scalar_t) == 4;
static constexpr double CG_ETA = CG_FAST ? MIN_NORMAL : ETA_ACC;

static inline double mag(real x) { return double(std::fabs(x)); }
static inline bool is_infinite(real x) { return x == real(cg_inf()) || x == -real(cg_inf()); }
// An error that is no number says nothing: it becomes infinite and the element is not judged.
static inline double known(double e) { return e == e ? e : cg_inf(); }

struct Exact { real v; };

struct VE {
  real v;
  double e;
  VE() : v(0), e(0) {}
  VE(real value, double error) : v(value), e(error) {}
  VE(Exact x) : v(x.v), e(CG_FAST && mag(x.v) < MIN_NORMAL ? mag(x.v) : 0) {}
};

// How far x is from v; equal infinities are not apart, and neither are two NaN.
static inline double apart(real x, real v) { return x == v || (x != x && v != v) ? 0 : known(mag(x - v)); }
// The error of v when a step may give anything between x and y.
static inline double hull(real v, real x, real y) {
  const double to_x = apart(x, v), to_y = apart(y, v);
  return to_x > to_y ? to_x : to_y;
}
static inline bool is_judged(VE a) { return a.e < cg_inf(); }
// Zeros of either sign: which one is left open. Only what divides by them can tell.
static constexpr double SIGN = 0x1p-1074;
static inline bool is_open_zero(VE a) { return a.v == 0 && a.e == SIGN; }
// How far the value may be from v, where the sign of a zero is nothing to move by.
static inline double reach(VE a) { return is_open_zero(a) ? 0 : a.e; }

// One rounded operation: k unit roundoffs of the result that a kernel has there, among subnormals of their spacing.
// The error already there is kept.
// Where a kernel may overflow nothing is judged; NaN, and an infinity that is no overflow, have no rounding.
static inline VE node(real v, double e, double k) {
  const double size = mag(v), error = e + k * (U_ACC * (size + e) + CG_ETA);
  if (size + error <= ACC_MAX) return VE(v, error);
  return VE(v, is_infinite(v) || v != v ? known(e) : cg_inf());
}
// An allowed rounding to another type.
static inline VE rounded(VE a, double u, double eta) {
  return u == 0 || is_infinite(a.v) || a.v != a.v ? a : VE(a.v, known(a.e + u * (mag(a.v) + a.e) + eta));
}
// A literal: exact if the accumulation type holds it.
static inline VE constant(real v) {
  return VE(v, real(scalar_t(v)) == v || v != v ? 0.0 : U_ACC * mag(v) + ETA_ACC);
}
// Stored to a type that saturates: clamping moves nothing farther apart.
static inline VE saturated(VE a, double max) {
  if (mag(a.v) <= max || a.v != a.v) return a;
  return VE(a.v < 0 ? -max : max, mag(a.v) - a.e >= max ? 0 : a.e);
}
// What a spec's own tolerance says, instead of the derived error. It makes nothing judged that was not.
static inline VE tolerated(VE a, double relative, double absolute) {
  const double e = relative * mag(a.v) + absolute;
  return is_judged(a) && e < cg_inf() ? VE(a.v, e) : a;
}

// Whether it is surely a zero, or surely none. An infinity and a NaN are none.
static inline bool is_sure_of_zero(VE a) { return a.e == 0 || !(a.e >= mag(a.v)) || is_open_zero(a); }
// What the errors of the factors do to a product.
static inline double product_error(VE a, VE b) {
  const double e = mag(a.v) * b.e + mag(b.v) * a.e + a.e * b.e;
  if (e < cg_inf()) return e;
  if (!is_judged(a) || !is_judged(b)) return cg_inf();
  if (a.v != a.v || b.v != b.v) return 0;
  // an infinity times what may be zero is NaN there
  return (is_infinite(a.v) || is_infinite(b.v)) && is_sure_of_zero(a) && is_sure_of_zero(b) ? 0 : cg_inf();
}
static inline double quotient_error(VE a, VE b, double q) {
  if (!is_judged(a) || !is_judged(b)) return cg_inf();
  if ((a.e == 0 && b.e == 0) || a.v != a.v || b.v != b.v) return 0;
  const double size = mag(b.v);
  if (b.e > 0 && b.e >= size && !is_infinite(b.v)) return cg_inf();
  return is_infinite(a.v) ? 0 : known((a.e + q * b.e) / (size - b.e));
}

static inline VE operator+(VE a, VE b) { return node(a.v + b.v, a.e + b.e, 1); }
static inline VE operator-(VE a, VE b) { return node(a.v - b.v, a.e + b.e, 1); }
static inline VE operator-(VE a) { return VE(-a.v, a.e); }
static inline VE operator*(VE a, VE b) { return node(a.v * b.v, product_error(a, b), 1); }
// Fast: __fdividef errs by 2 ulp, and gives 0 for divisors above 2^126 (CUDA C++ Programming Guide, Intrinsic
// Functions).
static inline VE operator/(VE a, VE b) {
  const real q = a.v / b.v;
  const double e = quotient_error(a, b, mag(q));
  if (!CG_FAST || q != q) return node(q, e, 1);
  return node(q, mag(b.v) + b.e > 0x1p126 ? e + mag(q) : e, 4);
}
static inline VE operator+(Exact a, Exact b) { return VE(a) + VE(b); }
static inline VE operator-(Exact a, Exact b) { return VE(a) - VE(b); }
static inline VE operator*(Exact a, Exact b) { return VE(a) * VE(b); }
static inline VE operator/(Exact a, Exact b) { return VE(a) / VE(b); }
static inline VE operator-(Exact a) { return -VE(a); }

// A product that is summed: its rounding is inside the sum's term. Flushed factors are no exact terms.
static inline VE term(VE a, VE b) { return VE(a.v * b.v, product_error(a, b)); }
// one factor without an error, the usual case, in fewer steps
static inline VE term(VE a, Exact b) {
  const double e = mag(b.v) * a.e;
  return !CG_FAST && e < cg_inf() ? VE(a.v * b.v, e) : term(a, VE(b));
}
static inline VE term(Exact a, VE b) { return term(b, a); }
static inline auto term(Exact a, Exact b) {
  if constexpr (CG_FAST) return term(VE(a), VE(b));
  else return Exact{a.v * b.v};
}

// The same where a kernel may bring each factor to TF32: 11 significant bits, the exponents of f32. Tensor cores that
// are given an f32 drop its lower bits, which loses up to 2^-10.
static inline VE term_tf32(VE a, VE b) {
  const double u = 0x1p-10, eta = 0x1p-137, both = 2 * u + u * u;
  if (is_infinite(a.v * b.v) || a.v * b.v != a.v * b.v) return VE(a.v * b.v, product_error(a, b));
  const double flushed = eta * ((1 + u) * (mag(a.v) + a.e + mag(b.v) + b.e) + eta);
  return VE(a.v * b.v, known(product_error(a, b) * (1 + both) + both * mag(a.v * b.v) + flushed));
}

// Of two that are surely ordered, the one. Else the larger error holds: neither moves the result farther than itself.
// What is not judged may be NaN. Of zeros that differ in sign a kernel may take either; the value is +0.
static inline VE cg_max(VE a, VE b) {
  const double larger = a.e > b.e ? a.e : b.e;
  if (a.v != a.v || b.v != b.v) return VE(a.v + b.v, larger);
  if (!(larger < cg_inf())) return VE(a.v > b.v ? a.v : b.v, larger);
  if (a.v == 0 && b.v == 0 && larger == 0 && std::copysign(1.0, a.v) != std::copysign(1.0, b.v)) return VE(0, SIGN);
  if (a.v - a.e >= b.v + b.e) return a;
  if (b.v - b.e >= a.v + a.e) return b;
  return VE(a.v > b.v ? a.v : b.v, larger);
}
static inline VE cg_min(VE a, VE b) { return -cg_max(-a, -b); }
