// Discontinuous steps, conditions and integers: what is reachable is inside, what is sure has no error.
template <class R, class K>
static void step(const char* name, R reference, K kernel) {
  for (int i = 0; i < SAMPLES; ++i) {
    const Argument a = argument(1e6);
    const auto r = reference(a.reference);
    const auto found = kernel(a.kernel);
    expect(is_right(found, r), name, text(double(a.kernel), double(found), double(r.v)));
  }
  expect(reference(VE(2.25, 0.2)).e == 0, name, "a sure step has an error");
  expect(reference(VE(1e6 + 0.25, 0)).e == 0, name, "an exact step has an error");
}
static void steps() {
  step("floor", cg_floor, [](acc x) { return std::floor(x); });
  step("ceil", cg_ceil, [](acc x) { return std::ceil(x); });
  step("round", cg_round, [](acc x) { return std::nearbyint(x); });
  step("sign", [](VE a) { return cg_sign(a); }, [](acc x) { return acc((x > 0) - (x < 0)); });
  step("cast i8", [](VE a) { return cg_cast_i8(a); }, [](acc x) { return int64_t(x > 127 ? 127 : x < -128 ? -128 : x); });
  step("cast i32", [](VE a) { return cg_cast_i32(a); }, [](acc x) { return int64_t(x); });
  step("cast u4", [](VE a) { return cg_cast_u4(a); }, [](acc x) { return int64_t(x > 15 ? 15 : x < 0 ? 0 : x); });
  expect(cg_floor(VE(2, 1e-6)).e == 1 && cg_round(VE(2.5, 1e-6)).e == 1, "a step at an edge");
  expect(cg_sign(VE(0, 1e-9)).e == 1 && cg_sign(VE(1e-9, 1e-8)).e == 2, "a sign that may turn");
  expect(cg_round(VE(2.5, 0)).v == 2 && cg_round(VE(-3.5, 0)).v == -4, "halves to even");
}

template <class C, class K>
static void comparison(const char* name, C compare, K kernel) {
  int unsure = 0;
  for (int i = 0; i < SAMPLES; ++i) {
    const Argument a = argument(4), other = argument(4);
    const Argument b = chance(0.5) ? other : Argument{VE(a.reference.v, a.reference.e / 2), acc(a.reference.v)};
    if (b.reference.e == 0 && real(b.kernel) != b.reference.v) continue;
    if (mag(real(b.kernel) - b.reference.v) > b.reference.e) continue;
    const Cond c = compare(a.reference, b.reference);
    const bool found = kernel(a.kernel, b.kernel);
    expect(!c.sure || c.v == found, name, text(double(a.kernel), double(b.kernel), c.v));
    unsure += !c.sure;
    const VE x(1, 0.125), y(5, 0.25), w = cg_where(c, x, y);
    expect(is_right(found ? acc(1.125) : acc(5.25), w), "where", text(found, double(w.v), w.e));
    expect(!c.sure || w.e == (c.v ? x.e : y.e), "where", "is sure and takes the other's error");
  }
  expect(unsure > SAMPLES / 100 && unsure < SAMPLES * 3 / 4, name, "is seldom, or hardly ever, sure");
  const Cond sure = compare(VE(1, 0.125), VE(2, 0.125)), exact = compare(VE(1, 0), VE(1, 0));
  expect(sure.sure && exact.sure, name, "is not sure of what is decided");
  expect(compare(VE(1, 0.5), VE(1.25, 0)).sure == false, name, "is sure of what is not decided");
}
static void conditions() {
  comparison("lt", [](VE a, VE b) { return cg_lt(a, b); }, [](acc a, acc b) { return a < b; });
  comparison("le", [](VE a, VE b) { return cg_le(a, b); }, [](acc a, acc b) { return a <= b; });
  comparison("gt", [](VE a, VE b) { return cg_gt(a, b); }, [](acc a, acc b) { return a > b; });
  comparison("ge", [](VE a, VE b) { return cg_ge(a, b); }, [](acc a, acc b) { return a >= b; });
  comparison("eq", [](VE a, VE b) { return cg_eq(a, b); }, [](acc a, acc b) { return a == b; });
  comparison("ne", [](VE a, VE b) { return cg_ne(a, b); }, [](acc a, acc b) { return a != b; });
  const VE nan(__builtin_nan(""), 0), one(1, 0);
  expect(cg_ne(nan, one).v && !cg_eq(nan, one).v && !cg_lt(nan, one).v && cg_lt(nan, one).sure, "NaN compares");
}
// and, or, not: sure exactly where no choice of the unsure ones decides otherwise.
static void logic() {
  for (int bits = 0; bits < 16; ++bits) {
    const Cond a{bool(bits & 1), bool(bits & 2)}, b{bool(bits & 4), bool(bits & 8)};
    bool and_sure = true, or_sure = true;
    for (int other = 0; other < 4; ++other) {
      const bool x = a.sure ? a.v : other & 1, y = b.sure ? b.v : other & 2;
      and_sure &= (x && y) == (a.v && b.v);
      or_sure &= (x || y) == (a.v || b.v);
    }
    expect(cg_and(a, b).v == (a.v && b.v) && cg_and(a, b).sure == and_sure, "and");
    expect(cg_or(a, b).v == (a.v || b.v) && cg_or(a, b).sure == or_sure, "or");
    expect(cg_not(a).v == !a.v && cg_not(a).sure == a.sure, "not");
  }
}

template <class R, class K>
static void integers_of(const char* name, int64_t least, R reference, K kernel) {
  for (int i = 0; i < SAMPLES; ++i) {
    const int64_t e = whole(0, 3), f = whole(0, 2), x = whole(-20, 20), y = whole(least + (least > 0 ? f : 0), 20);
    const IV r = reference(IV{x, e}, IV{y, f});
    const int64_t found = kernel(x + whole(-e, e), y + whole(-f, f));
    expect(is_right(found, r), name, text(double(x), double(y), double(found)));
    expect(reference(cg_int(x), cg_int(y)).e == 0, name, "is exact and has an error");
  }
}
static void integers() {
  integers_of("i+", -20, [](IV a, IV b) { return a + b; }, [](int64_t a, int64_t b) { return a + b; });
  integers_of("i-", -20, [](IV a, IV b) { return a - b; }, [](int64_t a, int64_t b) { return a - b; });
  integers_of("i*", -20, [](IV a, IV b) { return a * b; }, [](int64_t a, int64_t b) { return a * b; });
  integers_of("imax", -20, [](IV a, IV b) { return cg_max(a, b); }, [](int64_t a, int64_t b) { return cg_imax(a, b); });
  integers_of("imin", -20, [](IV a, IV b) { return cg_min(a, b); }, [](int64_t a, int64_t b) { return cg_imin(a, b); });
  integers_of("irem", 1, [](IV a, IV b) { return cg_rem(a, b); }, [](int64_t a, int64_t b) { return ((a % b) + b) % b; });
  integers_of("isign", -20, [](IV a, IV) { return cg_sign(a); }, [](int64_t a, int64_t) { return int64_t((a > 0) - (a < 0)); });
  integers_of("iabs", -20, [](IV a, IV) { return cg_abs(a); }, [](int64_t a, int64_t) { return a < 0 ? -a : a; });
  integers_of("cast", -20, [](IV a, IV) { return cg_cast_i4(a); }, [](int64_t a, int64_t) { return cg_imin(7, cg_imax(-8, a)); });
  const IV big = cg_int(INT64_MAX), unknown = {5, UNKNOWN};
  expect((big + cg_int(1)).e == UNKNOWN && (big * big).e == UNKNOWN && (-cg_int(INT64_MIN)).e == UNKNOWN, "an overflow");
  expect((unknown + big).e == UNKNOWN && cg_max(unknown, big).e == UNKNOWN && (unknown * cg_int(0)).e == UNKNOWN, "unknown");
  expect(cg_floor_div(-7, 2) == -4 && cg_floor_div(-8, 2) == -4 && cg_floor_div(7, 2) == 3 && cg_mod(-7, 2) == 1, "indices");
  expect(cg_real(cg_int(1 << 20)).e == 0 && cg_real(IV{3, 2}).e == 2, "an integer as a real");
  expect((cg_real(cg_int((1 << 24) + 1)).e > 0) == (sizeof(acc) == 4), "an integer that the type can't hold");
}

int main() {
  steps();
  conditions();
  logic();
  integers();
  return report("steps");
}
