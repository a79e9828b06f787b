// Functions of reals: how far f moves over the argument's error, and k unit roundoffs of f itself.
//
// The widening under fast math is what the CUDA C++ Programming Guide (Mathematical Functions, Intrinsic Functions)
// says of the intrinsics that -use_fast_math puts in, and the PTX ISA of the .approx instructions under them. An ulp
// is at most 2 unit roundoffs of the value.

// A monotone function: over [a - e, a + e] it moves most at an end.
template <class F>
static inline VE monotone(VE a, double k, F f) {
  const real v = f(a.v);
  if (!is_judged(a)) return VE(v, a.e);
  return node(v, reach(a) == 0 ? 0 : hull(v, f(a.v - a.e), f(a.v + a.e)), k);
}
static inline double fast(double approximate, double standard) { return CG_FAST ? approximate : standard; }
// What an approximation may be off by, whatever the value.
static inline VE widened(VE a, double absolute) { return CG_FAST ? VE(a.v, a.e + absolute) : a; }

static inline VE cg_abs(VE a) { return VE(std::fabs(a.v), is_open_zero(a) ? 0 : a.e); }
// __expf: 2 + floor(abs(1.173 x)) ulp; beyond 128 it is 0 or overflows
static inline VE cg_exp(VE a) {
  const double size = mag(a.v) + a.e;
  return monotone(a, fast(4 + 2.346 * (size < 128 ? size : 128), 4), [](real x) { return std::exp(x); });
}
// ex2.approx: 2^-22 relative
static inline VE cg_exp2(VE a) { return monotone(a, 4, [](real x) { return std::exp2(x); }); }
static inline VE cg_expm1(VE a) { return monotone(a, 4, [](real x) { return std::expm1(x); }); }

static inline bool meets_one(VE a) { return a.v + a.e >= 0.5 && a.v - a.e <= 2; }
// __logf: 2^-21.41 on [0.5, 2], else 3 ulp; __log2f (lg2.approx): 2^-22, else 2 ulp
static inline VE cg_log(VE a) {
  return widened(monotone(a, fast(6, 4), [](real x) { return std::log(x); }), meets_one(a) ? 3.6e-7 : 0);
}
static inline VE cg_log2(VE a) {
  return widened(monotone(a, 4, [](real x) { return std::log2(x); }), meets_one(a) ? 0x1p-22 : 0);
}
static inline VE cg_log1p(VE a) { return monotone(a, 4, [](real x) { return std::log1p(x); }); }

// sqrt.approx: 2^-23 relative, or x rsqrt(x); rsqrt.approx: 2^-22.9 relative
static inline VE cg_sqrt(VE a) { return monotone(a, fast(4, 2), [](real x) { return std::sqrt(x); }); }
static inline VE cg_rsqrt(VE a) {
  if (is_open_zero(a)) return VE(cg_inf(), cg_inf());
  return monotone(a, 4, [](real x) { return 1 / std::sqrt(x); });
}

// sin.approx, cos.approx: 2^-20.5 absolute within a period, 2^-14.7 to 100 pi; nothing is said beyond.
static inline double circular(VE a) {
  const double size = mag(a.v) + a.e;
  return size <= 3.15 ? 6.8e-7 : size <= 314 ? 3.8e-5 : 2;
}
// Slopes are at most 1, values in [-1, 1].
static inline double turned(VE a) { return a.e < 2 || !is_judged(a) ? a.e : 2; }
static inline VE cg_sin(VE a) { return widened(node(std::sin(a.v), turned(a), 4), circular(a)); }
static inline VE cg_cos(VE a) { return widened(node(std::cos(a.v), turned(a), 4), circular(a)); }

// tanh.approx: 2^-11 relative
static inline VE cg_tanh(VE a) { return monotone(a, fast(8192, 8), [](real x) { return std::tanh(x); }); }
static inline VE cg_erf(VE a) { return monotone(a, 8, [](real x) { return std::erf(x); }); }
// 1 / (1 + exp(-x)) is 0 where exp overflows. Fast: (1 + tanh(x / 2)) / 2.
static inline VE cg_sigmoid(VE a) {
  const VE s = monotone(a, 8, [](real x) { return 1 / (1 + std::exp(-x)); });
  return widened(VE(s.v, s.v < 4 / ACC_MAX ? s.e + mag(s.v) : s.e), 0x1p-12);
}
// Fast: the absolute errors of __logf and, in its argument, of __expf.
static inline VE cg_softplus(VE a) {
  return widened(
      monotone(a, 8, [](real x) { return (x > 0 ? x : real(0)) + std::log1p(std::exp(-(x > 0 ? x : -x))); }), 7.2e-7);
}
static inline VE cg_relu(VE a) { return a.v != a.v ? a : cg_max(a, VE(0, 0)); }
// At -inf the next three are an infinity times what may be zero: NaN by their formulas, and not judged.
static inline VE cg_silu(VE a) { return a * cg_sigmoid(a); }
// A kernel may take either form. What the first loses to cancellation for negative x is allowed; the value has lost nothing.
static inline VE either(VE formula, VE direct) {
  if (direct.v != direct.v) return VE(direct.v, formula.e);
  const double e = formula.e + apart(formula.v, direct.v);
  return VE(direct.v, known(e > direct.e ? e : direct.e));
}
// erfc: 5 ulp in f64
static inline VE cg_erfc(VE a) { return monotone(a, 10, [](real x) { return std::erfc(x); }); }
static inline VE cg_gelu(VE a) {
  const VE root = constant(real(0.70710678118654752440L));
  const VE written = constant(0.5) * a * (constant(1) + cg_erf(a * root));
  return either(written, constant(0.5) * a * cg_erfc(-(a * root)));
}
static inline VE cg_gelu_tanh(VE a) {
  const VE cubic = a + constant(real(0.044715L)) * a * a * a;
  const VE inner = constant(real(0.79788456080286535588L)) * cubic;
  const VE written = constant(0.5) * a * (constant(1) + cg_tanh(inner));
  return either(written, a * cg_sigmoid(constant(2) * inner));
}

// How far x^y moves over the box of both errors. For positive x it is monotone in each, so most at a corner. For
// others only an exact integer exponent gives numbers on both sides: where an even one turns, at 0, it is nearer than
// at the farther corner.
static inline double power_error(VE x, VE y, real v) {
  if (!is_judged(x) || !is_judged(y)) return cg_inf();
  if (x.e == 0 && y.e == 0) return 0;
  const real left = x.v - x.e, right = x.v + x.e, low = y.v - y.e, high = y.v + y.e;
  const bool pole = right >= 0 && y.v < 0;
  if (left < 0 && (y.e != 0 || pole)) return cg_inf();
  const double a = hull(v, std::pow(left, low), std::pow(right, low));
  const double b = y.e == 0 ? a : hull(v, std::pow(left, high), std::pow(right, high));
  return a > b ? a : b;
}
// powf: 4 ulp. Fast: exp2f(y * __log2f(x)), whose exponent errs by 2^-22 near 1, 2 ulp of the logarithm elsewhere and
// the product's rounding; ex2.approx on top.
static inline VE cg_pow(VE x, VE y) {
  const real v = std::pow(x.v, y.v);
  const double e = power_error(x, y, v);
  if (!CG_FAST || x.v == 0) return node(v, e, 8);
  const double logarithm = mag(std::log2(mag(x.v)));
  const double exponent = (mag(y.v) + y.e) * (0x1p-22 + 6 * U_ACC * logarithm);
  return node(v, known(e + (mag(v) + e) * std::expm1(exponent)), 8);
}
