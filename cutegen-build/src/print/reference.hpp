// Running error analysis: a value with the error that a kernel at the spec's precision may have there.
// U_ACC and ETA_ACC are the unit roundoff and the underflow of the accumulation type.
struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };

static inline double cg_inf() { return __builtin_inf(); }

struct Exact { real v; };

struct VE {
  real v;
  double e;
  VE() : v(0), e(0) {}
  VE(real value, double error) : v(value), e(error) {}
  VE(Exact x) : v(x.v), e(0) {}
};

static inline double mag(real x) { return double(x < 0 ? -x : x); }
// An error that is no number says nothing: it becomes infinite and the element is not judged.
static inline double known(double e) { return e == e ? e : __builtin_inf(); }

// One rounded operation: k unit roundoffs of its result. The error already there is kept.
static inline VE node(real v, double e, double k) { return VE(v, known(e + k * U_ACC * mag(v) + ETA_ACC)); }
// An allowed or demanded rounding to another type.
static inline VE rounded(VE a, double u, double eta) { return u == 0 ? a : VE(a.v, known(a.e + u * (mag(a.v) + a.e) + eta)); }
// A literal: exact if the accumulation type holds it.
static inline VE constant(real v) { return VE(v, real(scalar_t(v)) == v || v != v ? 0.0 : U_ACC * mag(v)); }

static inline Exact cg_load(double x) { return Exact{real(x)}; }
static inline Exact cg_load(float x) { return Exact{real(x)}; }
static inline Exact cg_load(bf16 x) {
  const uint32_t bits = uint32_t(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return Exact{real(value)};
}
static inline Exact cg_load(f16 x) {
  const int exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
  real magnitude;
  if (exponent == 31) magnitude = fraction ? real(__builtin_nan("")) : real(__builtin_inf());
  else if (exponent == 0) magnitude = std::ldexp(real(fraction), -24);
  else magnitude = std::ldexp(real(1024 + fraction), exponent - 25);
  return Exact{x.bits & 0x8000 ? -magnitude : magnitude};
}

static inline VE operator+(VE a, VE b) { return node(a.v + b.v, a.e + b.e, 1); }
static inline VE operator-(VE a, VE b) { return node(a.v - b.v, a.e + b.e, 1); }
static inline VE operator-(VE a) { return VE(-a.v, a.e); }
static inline VE operator*(VE a, VE b) {
  return node(a.v * b.v, mag(a.v) * b.e + mag(b.v) * a.e + a.e * b.e, 1);
}
static inline VE operator/(VE a, VE b) {
  const real q = a.v / b.v;
  if (b.e == 0) return node(q, a.e / mag(b.v), 1);
  return node(q, b.e >= mag(b.v) ? __builtin_inf() : (a.e + mag(q) * b.e) / (mag(b.v) - b.e), 1);
}
static inline VE operator+(Exact a, Exact b) { return VE(a) + VE(b); }
static inline VE operator-(Exact a, Exact b) { return VE(a) - VE(b); }
static inline VE operator*(Exact a, Exact b) { return VE(a) * VE(b); }
static inline VE operator/(Exact a, Exact b) { return VE(a) / VE(b); }
static inline VE operator-(Exact a) { return -VE(a); }

// A product that is summed: its rounding is inside the sum's term.
static inline Exact term(Exact a, Exact b) { return Exact{a.v * b.v}; }
static inline VE term(VE a, VE b) { return VE(a.v * b.v, known(mag(a.v) * b.e + mag(b.v) * a.e + a.e * b.e)); }

// A sum of n non-zero terms in any order: (2 sqrt n + n / 8) u times the sum of magnitudes.
struct Sum {
  real v = 0;
  double e = 0, magnitude = 0;
  long long n = 0;
  void add(Exact t) { v += t.v; magnitude += mag(t.v); n += t.v != 0; }
  void add(VE t) { add(Exact{t.v}); e += t.e; }
  VE result(double scale) const {
    const double terms = double(n);
    return VE(v, known(e + scale * (2 * std::sqrt(terms) + terms / 8) * U_ACC * magnitude));
  }
};

// The largest (sign -1 start at -inf) or smallest (sign 1) value; NaN stays.
struct Extreme {
  real v;
  double e = 0;
  int sign;
  explicit Extreme(int s) : v(s * __builtin_inf()), sign(s) {}
  void add(VE t) {
    if (t.e > e) e = t.e;
    if (t.v != t.v || (v == v && (sign < 0 ? t.v > v : t.v < v))) v = t.v;
  }
  void add(Exact t) { add(VE(t)); }
  VE result(double) const { return VE(v, e); }
};

static inline VE cg_max(VE a, VE b) {
  const double e = a.e > b.e ? a.e : b.e;
  return a.v != a.v || b.v != b.v ? VE(a.v + b.v, e) : VE(a.v > b.v ? a.v : b.v, e);
}
static inline VE cg_min(VE a, VE b) {
  const double e = a.e > b.e ? a.e : b.e;
  return a.v != a.v || b.v != b.v ? VE(a.v + b.v, e) : VE(a.v < b.v ? a.v : b.v, e);
}

// A monotone function: over [a - e, a + e] it moves most at an end. `k` ulps are 2k unit roundoffs.
template <class F>
static inline VE monotone(VE a, double ulps, F f) {
  const real v = f(a.v);
  if (a.e == 0 || v != v) return node(v, 0, 2 * ulps);
  const double up = mag(f(a.v + a.e) - v), down = mag(f(a.v - a.e) - v);
  return node(v, known(up > down ? up : down), 2 * ulps);
}
// A function whose slope is at most `slope` everywhere.
template <class F>
static inline VE lipschitz(VE a, double slope, double ulps, F f) {
  return node(f(a.v), slope * a.e, 2 * ulps);
}

static inline VE cg_abs(VE a) { return VE(a.v < 0 ? -a.v : a.v, a.e); }
static inline VE cg_exp(VE a) { return monotone(a, 2, [](real x) { return std::exp(x); }); }
static inline VE cg_exp2(VE a) { return monotone(a, 2, [](real x) { return std::exp2(x); }); }
static inline VE cg_expm1(VE a) { return monotone(a, 2, [](real x) { return std::expm1(x); }); }
static inline VE cg_log(VE a) { return monotone(a, 2, [](real x) { return std::log(x); }); }
static inline VE cg_log2(VE a) { return monotone(a, 2, [](real x) { return std::log2(x); }); }
static inline VE cg_log1p(VE a) { return monotone(a, 2, [](real x) { return std::log1p(x); }); }
static inline VE cg_sqrt(VE a) { return monotone(a, 1, [](real x) { return std::sqrt(x); }); }
static inline VE cg_rsqrt(VE a) { return monotone(a, 2, [](real x) { return 1 / std::sqrt(x); }); }
static inline VE cg_sin(VE a) { return lipschitz(a, 1, 2, [](real x) { return std::sin(x); }); }
static inline VE cg_cos(VE a) { return lipschitz(a, 1, 2, [](real x) { return std::cos(x); }); }
static inline VE cg_tanh(VE a) { return monotone(a, 4, [](real x) { return std::tanh(x); }); }
static inline VE cg_erf(VE a) { return monotone(a, 4, [](real x) { return std::erf(x); }); }
static inline VE cg_sigmoid(VE a) { return monotone(a, 4, [](real x) { return 1 / (1 + std::exp(-x)); }); }
static inline VE cg_relu(VE a) { return VE(a.v != a.v || a.v > 0 ? a.v : real(0), a.e); }
static inline VE cg_softplus(VE a) {
  return monotone(a, 4, [](real x) { return (x > 0 ? x : real(0)) + std::log1p(std::exp(-(x > 0 ? x : -x))); });
}
static inline VE cg_silu(VE a) { return a * cg_sigmoid(a); }
static inline VE cg_gelu(VE a) {
  const VE root = constant(real(0.70710678118654752440L));
  return constant(0.5) * a * (constant(1) + cg_erf(a * root));
}
// As written: what the formula loses to cancellation for negative x is allowed, whatever form a kernel takes.
static inline VE cg_gelu_tanh(VE a) {
  const VE cubic = a + constant(0.044715) * a * a * a;
  return constant(0.5) * a * (constant(1) + cg_tanh(constant(real(0.79788456080286535588L)) * cubic));
}
