// Reductions: honest orders stay inside, exact data are exact, what may overflow is not judged.
using Terms = std::vector<acc>;

// One chain: the worst that is honest, up to LONGEST terms. Of more, a tree of shorter ones.
static acc serial(const acc* x, size_t n) {
  acc sum = 0;
  for (size_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}
static size_t honest_chain(size_t n) {
  return n <= size_t(LONGEST) ? n : std::max(size_t(CHAIN), size_t(LONGEST) * LONGEST / n);
}
static acc tree(const acc* x, size_t n, size_t chain) {
  if (n <= chain) return serial(x, n);
  const size_t half = (n / chain + 1) / 2 * chain;
  return tree(x, half, chain) + tree(x + half, n - half, chain);
}
static acc sequential(const Terms& x) { return tree(x.data(), x.size(), honest_chain(x.size())); }
static acc pairwise(const acc* x, size_t n) {
  return n == 0 ? acc(0) : n == 1 ? x[0] : pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}
static acc blocked(const Terms& x) {
  Terms parts;
  for (size_t i = 0; i < x.size(); i += 32) parts.push_back(serial(x.data() + i, std::min(x.size() - i, size_t(32))));
  return sequential(parts);
}
static acc lanes(const Terms& x) {
  Terms parts(std::max(size_t(32), x.size() / honest_chain(x.size())));
  for (size_t i = 0; i < x.size(); ++i) parts[i % parts.size()] += x[i];
  return sequential(parts);
}
static double share(const Terms& x, VE r) {
  const Terms back(x.rbegin(), x.rend());
  double worst = 0;
  for (acc s : {sequential(x), sequential(back), pairwise(x.data(), x.size()), blocked(x), lanes(x)}) {
    const double off = mag(real(s) - r.v);
    if (off > 0) worst = std::max(worst, off / r.e);
  }
  return worst;
}
template <class S = Sum>
static VE summed(const Terms& x) {
  S s;
  for (acc t : x) s.add(Exact{real(t)});
  return s.result(1);
}
static void orders(const char* name, const Terms& x) {
  const double worst = share(x, summed(x));
  expect(worst <= 1, name, "uses " + std::to_string(worst) + " of the bound at n = " + std::to_string(x.size()));
}

// The variance of a one-hot row: all terms but one are equal.
static Terms one_hot_variance(size_t n, size_t hot, double height) {
  Terms x(n, acc(height / double(n)) * acc(height / double(n)));
  x[hot] = acc(height - height / double(n)) * acc(height - height / double(n));
  return x;
}
// Short numbers, each less one constant: no two need be equal, and yet they round alike.
static Terms lattice(size_t n, acc constant) {
  Terms x(n);
  for (acc& t : x) t = acc(double(whole(0, 255)) / 64) - constant;
  return x;
}
static void lattices() {
  const size_t n = LONGEST;
  // from n to 2n the last bit of the sum weighs 2 n u; the constant is a little less than half of it
  for (int i = 0; i < 20; ++i) orders("a lattice and a constant", lattice(n, acc(uniform(0.8, 0.99) * double(n) * U_ACC)));
}
static void sums() {
  for (size_t n : {1, 2, 7, 32, 100, 131, 1000, 4097}) {
    for (int i = 0; i < 200; ++i) {
      Terms normal(n), positive(n), equal(n, acc(uniform(0.5, 2))), coarse(n), few(n);
      std::normal_distribution<double> bell;
      const acc levels[3] = {acc(uniform(0, 1)), acc(uniform(0, 1)), acc(uniform(0, 1))};
      for (size_t k = 0; k < n; ++k) {
        normal[k] = acc(bell(engine));
        positive[k] = acc(uniform(0, 1));
        coarse[k] = acc(double(whole(0, 15)) * 0.1);
        few[k] = levels[whole(0, 2)];
      }
      orders("a sum of normals", normal);
      orders("a sum of uniforms", positive);
      orders("a sum of equals", equal);
      orders("a sum of 16 levels", coarse);
      orders("a sum of 3 levels", few);
      orders("a one-hot variance", one_hot_variance(n, size_t(whole(0, int64_t(n) - 1)), uniform(0.5, 2)));
      orders("a one-hot variance, last", one_hot_variance(n, n - 1, uniform(0.5, 2)));
    }
    if (n > size_t(LONGEST)) continue;
    // the worst case: each step loses half an ulp of the first term
    Terms lost(n, acc(U_ACC * (1 - U_ACC * 8)));
    lost[0] = 1;
    orders("a sum that stands still", lost);
  }
}
// What a chain of all terms errs by, as a share of the bound.
template <class S = Sum>
static double chained(const Terms& x) {
  const VE r = summed<S>(x);
  return mag(real(serial(x.data(), x.size())) - r.v) / r.e;
}
static void long_sums() {
  const size_t n = size_t(1) << 22;
  Terms positive(n), normal(n), equal(n, acc(0.1)), means(n);
  std::normal_distribution<double> bell;
  for (size_t k = 0; k < n; ++k) {
    positive[k] = acc(uniform(0, 1)), normal[k] = acc(bell(engine)), means[k] = acc(1013.7 + bell(engine));
  }
  for (const Terms* x : {&positive, &normal, &equal, &means}) orders("a long sum", *x);
  double magnitude = 0;
  for (acc t : normal) magnitude += std::fabs(double(t));
  expect(summed(normal).e < 112 * U_ACC * magnitude, "a long sum", "of normals is as loose as its terms are many");
  expect(summed(equal).e < 1100 * U_ACC * 0.1 * double(n), "a long sum of equals", "is as loose as its terms are many");
  const Terms some(16384, acc(0.1));
  orders("a row of several threads", some);
  expect(summed(some).e < 3000 * U_ACC * 0.1 * 16384, "a row of several threads", "is as loose as one of one thread");
  // errors of one sign: those of random terms are now and then small
  if (sizeof(acc) == 4) expect(chained(means) > 1, "a long sum", "in one chain is inside");
  expect(chained(equal) > 1, "a long sum of equals", "in one chain is inside");
  expect(chained<LongSum>(positive) < 1, "a long contraction", "in one chain is outside");
  LongSum all;
  all.n = 1 << 22, all.magnitude = 1, all.v = 1;
  expect(all.usual(1).e < (2 * 2048 + 131072 / 8 + 1) * U_ACC, "a long contraction", "drifts on and on");
}
static void terms_and_bounds() {
  Sum one;
  for (int i = 0; i < 1000; ++i) one.add(Exact{real(i == 500 ? 3 : 0)});
  expect(one.result(1).e < 3 * 2.2 * U_ACC, "one-hot inputs", "are not sharp");
  Sum integers;
  for (int i = 0; i < 1000; ++i) integers.add(Exact{real(i % 7)});
  expect(integers.result(0).e == 0, "exact data", "have an error");
  Sum huge;
  for (int i = 0; i < 4; ++i) huge.add(Exact{real((i % 2 ? -1 : 1) * 0.4 * ACC_MAX)});
  expect(huge.v == 0 && huge.result(1).e == cg_inf(), "a sum that may overflow", "is judged");
  const real nan = real(__builtin_nan("")), inf = real(cg_inf());
  for (const std::vector<real>& terms : {std::vector<real>{1, nan, 2}, {inf, 1, -inf}, {3, inf, 0.1}, {inf, nan}}) {
    Sum sure;
    for (real t : terms) sure.add(VE(t, t == 1 ? 0.01 : 0));
    expect(!(mag(sure.v) < cg_inf()) && sure.result(1).e < cg_inf(), "a sum of what is not finite", "is not judged");
    sure.add(VE(1, cg_inf()));
    expect(sure.result(1).e == cg_inf(), "a sum with what is not judged", "is judged");
  }
  Sum either;  // an infinity beside what may overflow the other way
  for (real t : {inf, real(-0.7 * ACC_MAX), real(-0.7 * ACC_MAX)}) either.add(Exact{t});
  expect(either.result(1).e == cg_inf(), "an infinity beside an overflow", "is judged");
  Sum products;  // products that underflow, each rounded
  acc kernel = 0;
  for (int i = 0; i < 1000; ++i) {
    const acc a = acc(std::sqrt(ETA_ACC) * uniform(0.5, 1.5)), b = acc(std::sqrt(ETA_ACC) * uniform(0.5, 1.5));
    products.add(term(Exact{real(a)}, Exact{real(b)}));
    kernel += a * b;
  }
  expect(is_right(kernel, products.result(1)), "a sum of products that underflow");
  Sum scan;
  acc prefix = 0;
  for (int i = 0; i < 1000; ++i) {
    const Argument t = argument(100);
    scan.add(t.reference);
    prefix += t.kernel;
    expect(is_right(prefix, scan.result(1)), "a scan", std::to_string(i));
  }
}

static void products() {
  for (int i = 0; i < SAMPLES; ++i) {
    std::vector<Argument> x(size_t(whole(0, 30)));
    const double spread = chance(0.5) ? 1 : sizeof(acc) == 4 ? 6 : 40;
    Prod p;
    for (Argument& a : x) {
      const acc v = acc(std::exp2(uniform(-spread, spread)) * (chance(0.5) ? 1 : -1));
      const double e = chance(0.5) ? 0 : mag(real(v)) * std::exp2(-uniform(2, 30));
      a = {VE(real(v), e), acc(real(v) + real(e * 0.999 * uniform(-1, 1)))};
      if (mag(real(a.kernel) - real(v)) > e) a.kernel = v;
      p.add(a.reference);
    }
    for (int order = 0; order < 3; ++order) {
      acc kernel = 1;
      for (const Argument& a : x) kernel *= a.kernel;
      expect(is_right(kernel, p.result(1)), "prod", text(double(kernel), double(p.v), p.result(1).e));
      if (order == 0) std::sort(x.begin(), x.end(), [](auto& a, auto& b) { return std::abs(a.kernel) < std::abs(b.kernel); });
      else std::shuffle(x.begin(), x.end(), engine);
    }
  }
  const double tiny = 1 / std::sqrt(ACC_MAX) / 16;
  Prod over, under, zero;
  for (double f : {1 / tiny, 1 / tiny, tiny, tiny}) over.add(VE(real(acc(f)), 0));
  expect(over.result(1).e == cg_inf(), "a product that may overflow", "is judged");
  for (double f : {tiny, tiny, tiny, 1 / tiny}) under.add(VE(real(acc(f)), 0));
  expect(under.result(1).e >= mag(under.v), "a product that may underflow", "is judged as if it could not");
  Prod gone;
  for (int i = 0; i < 40; ++i) gone.add(VE(real(acc(1 / tiny)), 0));
  expect(is_infinite(gone.result(1).v), "a product that overflows", "is something else");
  gone.add(Exact{real(0)});
  expect(gone.result(1).e == cg_inf(), "a 0 behind what overflows", "is NaN, and 0 is wrong");
  Prod lost, kept, never;
  for (double f : {tiny, tiny, tiny, cg_inf()}) lost.add(VE(real(acc(f)), 0));
  expect(lost.result(1).e == cg_inf(), "an infinity that may meet 0", "is judged");
  for (double f : {0.5, -3.0, cg_inf()}) kept.add(VE(real(acc(f)), 0));
  expect(kept.result(1).v == -cg_inf(), "an infinity that meets no 0", "is lost");
  for (double f : {tiny, tiny, tiny, cg_inf(), 0.0}) never.add(VE(real(acc(f)), 0));
  expect(never.result(1).v != never.result(1).v && never.result(1).e < cg_inf(), "0 times infinity", "is a number");
  for (double f : {2.5, 0.0, 3.0}) zero.add(Exact{real(f)});
  expect(zero.result(1).e == 0 && zero.v == 0, "a product with 0", "has an error");
}

static void integers() {
  for (int i = 0; i < SAMPLES; ++i) {
    ISum sum(1000);
    IProd prod(1000);
    IExtreme most(-1), least(1);
    int64_t s = 0, size = 0, p = 1, high = INT64_MIN, low = INT64_MAX;
    for (int64_t k = whole(1, 5); k > 0; --k) {
      const int64_t v = whole(-9, 9), e = chance(0.7) ? 0 : whole(0, 2), t = v + whole(-e, e);
      sum.add(IV{v, e}), prod.add(IV{v, e}), most.add(IV{v, e}), least.add(IV{v, e});
      s += t, p *= t, size += std::abs(v) + e, high = cg_imax(high, t), low = cg_imin(low, t);
    }
    expect(is_right(s, sum.result(1)) && sum.result(1).e != UNKNOWN, "isum");
    expect(is_right(p, prod.result(1)), "iprod");
    expect(is_right(high, most.result(1)) && is_right(low, least.result(1)), "iextreme");
  }
  ISum wide_sum(INT32_MAX);
  for (int64_t v : {int64_t(INT32_MAX), int64_t(-5), int64_t(5)}) wide_sum.add(cg_int(v));
  expect(wide_sum.result(1).e == UNKNOWN, "a sum beyond its limit", "is judged");
  IProd wide_prod(INT32_MAX);
  for (int64_t v : {1 << 16, 1 << 16, 0}) wide_prod.add(cg_int(v));
  expect(wide_prod.result(1).e == UNKNOWN, "a product beyond its limit", "is judged");
}

// Brute force: an index is right when some values within the errors make it the lowest of the largest.
template <class T, class Term>
static void argument_of(Term term) {
  for (int i = 0; i < SAMPLES; ++i) {
    const int n = int(whole(1, 6)), sign = chance(0.5) ? -1 : 1;
    std::vector<IV> x;
    ArgExtreme<T> arg(sign);
    for (int k = 0; k < n; ++k) {
      x.push_back(IV{whole(-3, 3), chance(0.5) ? 0 : whole(0, 2)});
      arg.add(k, term(x.back()));
    }
    const IV r = arg.result(1);
    std::vector<int64_t> right = arg.also();
    right.push_back(r.v);
    std::sort(right.begin(), right.end());
    std::vector<int64_t> want;
    int64_t best = 0, far = 0;
    for (int k = 0; k < n; ++k) {
      if (-sign * x[k].v > -sign * x[best].v) best = k;
      bool wins = true;
      for (int j = 0; j < n; ++j) {
        const int64_t mine = -sign * x[k].v + x[k].e, its = -sign * x[j].v - x[j].e;
        wins &= j == k || mine > its || (mine == its && k < j);
      }
      if (wins) want.push_back(k);
    }
    for (int64_t k : want) far = cg_imax(far, std::abs(k - r.v));
    expect(r.v == best && right == want && r.e == far, "argmax", std::to_string(i));
  }
}
static void arguments() {
  argument_of<wide>([](IV x) { return x; });
  argument_of<real>([](IV x) { return VE(real(x.v), double(x.e)); });
  ArgExtreme<real> ties(-1), nan(-1), backwards(-1), empty(-1);
  for (int64_t k : {0, 1, 2, 3}) ties.add(k, Exact{real(k == 0 ? 1 : 7)}), backwards.add(3 - k, Exact{real(k == 3 ? 1 : 7)});
  expect(ties.result(1).v == 1 && ties.also().empty(), "argmax", "of ties");
  expect(backwards.result(1).v == 1 && backwards.also().empty(), "argmax", "of ties from the back");
  for (int64_t k : {0, 1, 2}) nan.add(k, Exact{k > 0 ? real(__builtin_nan("")) : real(9)});
  expect(nan.result(1).v == 1 && nan.also().empty() && empty.result(1).v == 0, "argmax", "of NaN, of nothing");
  ArgExtreme<wide> close(-1), doubtful(-1);
  for (int64_t k : {0, 1}) close.add(k, cg_int(INT64_MAX - 1 + k)), doubtful.add(k, IV{5 * k, k == 0 ? UNKNOWN : 0});
  expect(close.result(1).v == 1 && close.also().empty(), "argmax", "of integers that no double tells apart");
  expect(doubtful.result(1).v == 1 && doubtful.also() == std::vector<int64_t>{0}, "argmax", "of an unknown one");
  for (int64_t k = 0; k < 151936; ++k) empty.add(k, VE(real(std::sin(double(k))), 1e-6));
  expect(empty.also().empty() && empty.result(1).e > 0 && empty.also().size() < 1000, "argmax", "of many");
}

int main() {
  sums();
  long_sums();
  lattices();
  terms_and_bounds();
  products();
  integers();
  arguments();
  return report("reductions");
}
