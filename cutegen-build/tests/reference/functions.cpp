// Arithmetic and functions, evaluated in the accumulation type from arguments within their errors.
template <class R, class K>
static void unary(const char* name, double most, R reference, K kernel) {
  int judged = 0;
  for (int i = 0; i < SAMPLES; ++i) {
    const Argument a = argument(most);
    const VE r = reference(a.reference);
    const acc found = kernel(a.kernel);
    judged += r.e < cg_inf() && r.v == r.v;
    expect(is_right(found, r), name, text(double(a.kernel), double(found), double(r.v)) + " bound " + std::to_string(r.e));
  }
  expect(judged > SAMPLES / 10, name, "is hardly judged");
}
template <class R, class K>
static void binary(const char* name, double most, R reference, K kernel) {
  int judged = 0;
  for (int i = 0; i < SAMPLES; ++i) {
    const Argument a = argument(most), b = argument(most);
    const VE r = reference(a.reference, b.reference);
    const acc found = kernel(a.kernel, b.kernel);
    judged += r.e < cg_inf() && r.v == r.v;
    expect(is_right(found, r), name, text(double(a.kernel), double(b.kernel), double(found)));
  }
  expect(judged > SAMPLES / 10, name, "is hardly judged");
}

static void arithmetic() {
  const double most = std::sqrt(ACC_MAX);
  binary("add", most, [](VE a, VE b) { return a + b; }, [](acc a, acc b) { return a + b; });
  binary("sub", most, [](VE a, VE b) { return a - b; }, [](acc a, acc b) { return a - b; });
  binary("mul", ACC_MAX / 8, [](VE a, VE b) { return a * b; }, [](acc a, acc b) { return a * b; });
  binary("div", most, [](VE a, VE b) { return a / b; }, [](acc a, acc b) { return a / b; });
  binary("max", 100, [](VE a, VE b) { return cg_max(a, b); }, [](acc a, acc b) { return a > b ? a : b; });
  binary("min", 100, [](VE a, VE b) { return cg_min(a, b); }, [](acc a, acc b) { return a < b ? a : b; });
  binary("pow", 20, cg_pow, [](acc a, acc b) { return std::pow(a, b); });
  for (int n = -4; n <= 6; ++n) {
    const auto reference = [n](VE a) { return cg_pow(a, VE(n, 0)); };
    unary("pow of a whole exponent", 1000, reference, [n](acc a) { return std::pow(a, acc(n)); });
  }
  unary("neg", most, [](VE a) { return -a; }, [](acc a) { return -a; });
  unary("abs", most, [](VE a) { return cg_abs(a); }, [](acc a) { return std::abs(a); });
  unary("relu", most, cg_relu, [](acc a) { return a > 0 ? a : acc(0); });
  unary("saturated", 100, [](VE a) { return saturated(a, 3); }, [](acc a) { return a > 3 ? acc(3) : a < -3 ? acc(-3) : a; });
}

static void transcendental() {
  const double far = sizeof(acc) == 4 ? 120 : 800;
  unary("exp", far, cg_exp, [](acc x) { return std::exp(x); });
  unary("exp2", far, cg_exp2, [](acc x) { return std::exp2(x); });
  unary("expm1", far, cg_expm1, [](acc x) { return std::expm1(x); });
  unary("log", 1e30, cg_log, [](acc x) { return std::log(x); });
  unary("log2", 1e30, cg_log2, [](acc x) { return std::log2(x); });
  unary("log1p", 1e30, cg_log1p, [](acc x) { return std::log1p(x); });
  unary("sqrt", 1e30, cg_sqrt, [](acc x) { return std::sqrt(x); });
  unary("rsqrt", 1e30, cg_rsqrt, [](acc x) { return 1 / std::sqrt(x); });
  unary("sin", 1e6, cg_sin, [](acc x) { return std::sin(x); });
  unary("cos", 1e6, cg_cos, [](acc x) { return std::cos(x); });
  unary("tanh", 100, cg_tanh, [](acc x) { return std::tanh(x); });
  unary("erf", 10, cg_erf, [](acc x) { return std::erf(x); });
  unary("sigmoid", far, cg_sigmoid, [](acc x) { return 1 / (1 + std::exp(-x)); });
  unary("silu", far, cg_silu, [](acc x) { return x / (1 + std::exp(-x)); });
  unary("softplus", far, cg_softplus, [](acc x) { return std::fmax(x, acc(0)) + std::log1p(std::exp(-std::abs(x))); });
  unary("gelu", 10, cg_gelu, [](acc x) { return acc(0.5) * x * (1 + std::erf(x * acc(0.70710678118654752440L))); });
  unary("gelu_tanh", 10, cg_gelu_tanh, [](acc x) {
    const acc cubic = x + acc(0.044715L) * x * x * x;
    return acc(0.5) * x * (1 + std::tanh(acc(0.79788456080286535588L) * cubic));
  });
}

static real inf() { return real(cg_inf()); }

// Infinities that are no overflow go through without an error; what may overflow is not judged.
static void specials() {
  const VE minus(-cg_inf(), 0), score(3, 0.01);
  expect((score + minus).e < cg_inf() && cg_exp(score + minus).e < 1e-30, "a mask of -inf");
  const real inf = cg_inf();
  const VE vanished = VE(1e-40, 1e-40) * VE(-inf, 0), kept = VE(2, 1) * VE(-inf, 0), none = VE(0, 0) * VE(inf, 0);
  expect(vanished.e == cg_inf(), "a factor that may be 0 beside an infinity", "is judged");
  expect(kept.v == -inf && kept.e == 0 && none.v != none.v && none.e == 0, "a factor that is surely no 0 or surely one", "is not judged");
  expect((VE(0.125, 0) * minus).e == 0, "a scaled mask");
  expect(cg_max(minus, score).e == score.e, "the maximum over a mask");
  expect(cg_exp(VE(sizeof(acc) == 4 ? 89 : 710, 0)).e == cg_inf(), "an overflow");
  expect(cg_log(VE(0, 0)).v == -cg_inf() && cg_log(VE(1e-9, 1e-8)).e == cg_inf(), "the logarithm of 0");
  expect(cg_relu(VE(-1, 0.5)).e == 0 && cg_max(VE(1, 0.1), VE(2, 0.2)).e == 0.2, "a sure maximum");
  expect(tolerated(VE(-2, 9), 0.25, 1).e == 1.5, "a tolerance");
  expect((VE(-inf, 0) * constant(real(0.1L))).e == 0, "an infinity times an inexact literal", "is not judged");
  expect(cg_gelu(VE(inf, 0)).v == inf && cg_gelu(VE(inf, 0)).e == 0, "gelu of infinity", "is something else");
}

// What is not judged stays so, whatever is computed from it.
static void unjudged() {
  for (const VE a : {cg_silu(VE(-cg_inf(), 0)), cg_gelu(VE(-cg_inf(), 0)), cg_gelu_tanh(VE(-cg_inf(), 0)), VE(0, cg_inf()), VE(3, cg_inf())}) {
    const VE made[] = {cg_tanh(a), cg_sigmoid(a), cg_erf(a), cg_sin(a), cg_cos(a), cg_exp(-a), cg_pow(a, VE(0, 0)), cg_max(a, VE(inf(), 0)),
                       cg_relu(a), cg_floor(a), cg_sign(a), cg_cast_bf16(a), a * VE(0, 0), VE(1, 0) / a, a / VE(inf(), 0), saturated(a, 2),
                       tolerated(a, 1e-4, 1e-5), rounded(a, 0x1p-9, 0x1p-134), cg_abs(a), cg_gelu(a)};
    for (const VE& one : made) expect(one.e == cg_inf(), "what is not judged", "is judged at " + std::to_string(&one - made));
  }
  expect(cg_silu(VE(-cg_inf(), 0)).v != cg_silu(VE(-cg_inf(), 0)).v, "silu of -inf", "is a number");
}

// NaN and infinities that every kernel has.
static void sure() {
  const VE nan(real(__builtin_nan("")), 0), x(2, 0.5), big(inf(), 0);
  const VE made[] = {nan + x, x - nan, nan * x, x * nan, nan / x, x / nan, cg_exp(nan), cg_sin(nan), cg_max(nan, x), cg_floor(nan), big - big,
                     big * VE(0, 0), VE(0, 0) / VE(0, 0), big / big, cg_sqrt(VE(-2, 0.5)), rounded(nan, 0x1p-9, 0x1p-134), cg_gelu(nan)};
  for (const VE& one : made) expect(one.v != one.v && one.e < cg_inf(), "a sure NaN", "is not judged at " + std::to_string(&one - made));
  expect(error_of(nan) < cg_inf(), "a sure NaN", "has no bound");
  const VE kept[] = {big * x, big + x, big / x, cg_max(big, x), cg_exp(big), tolerated(big, 0.1, 1)};
  for (const VE& one : kept) expect(is_infinite(one.v) && one.e < cg_inf(), "a sure infinity", "is not judged at " + std::to_string(&one - kept));
  expect(cg_log(VE(0, 1e-7)).e == cg_inf() && cg_log(VE(-1e-9, 1e-7)).e == cg_inf(), "a logarithm that may be NaN", "is judged");
}

// Zeros have a sign, which the functions that end it end, and maxima leave open.
static void zeros() {
  const VE one(1, 0), minus(-0.0, 0);
  expect((one / cg_abs(minus)).v == inf() && (one / cg_abs(minus)).e == 0, "abs of -0");
  for (const VE zero : {cg_relu(minus), cg_max(minus, VE(0, 0)), cg_min(VE(0, 0), minus)}) {
    expect((one / zero).e == cg_inf() && cg_rsqrt(zero).e == cg_inf(), "a zero of either sign", "is judged where it divides");
    expect(cg_floor(zero).e < 1 && cg_gt(zero, VE(0, 0)).sure && (zero + one).e < 3 * U_ACC, "a zero of either sign", "is no zero");
  }
  expect((one / cg_relu(minus)).v == inf() && (one / minus).v == -inf() && (one / minus).e == 0, "a sign that is kept");
}

// The values of tails, where the formulas cancel.
static void tails() {
  const auto near = [](real found, double wanted) { return mag(found / real(wanted) - 1) < 1e-12; };
  expect(near(cg_gelu(VE(-5.5, 0)).v, -1.0444259356238256e-7) && near(cg_gelu(VE(-10, 0)).v, -7.619853024160527e-23), "a tail of gelu");
  expect(near(cg_gelu_tanh(VE(-8, 0)).v, -3.107782937501113e-21), "a tail of gelu_tanh");
}

int main() {
  arithmetic();
  transcendental();
  specials();
  unjudged();
  sure();
  zeros();
  tails();
  return report("functions");
}
