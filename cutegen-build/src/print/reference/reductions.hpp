// Reductions over any order of their terms. result() may be called after every add. It takes the scale of sums'
// rounding: 0 where the data make every sum exact, else 1.
// n non-zero terms: rounding wanders, 2 sqrt(n) u, and drifts with accumulators that truncate, n / 8 u, both times
// the sum of magnitudes. That takes roundings for independent, which they are not where a term repeats: within a
// binade of the running sum it rounds with the same error each time. So each repeat counts 7/8 u more, which with the
// n / 8 makes up the worst case of any order, (n - 1) u: reached where a large term comes first and each of the others
// is little more than half an ulp of it. One-hot rows have no repeats: zeros don't count.
// Different terms round alike, too, where they lie on a lattice coarser than the sum's last bit plus one constant, as
// the differences of short floats and a scalar do. What that costs is measured: `plain` adds the terms one after another
// in the accumulation type, and an honest order may lose twice what that one lost.
// An honest kernel adds no more than LONGEST terms one after another, which is a row that one thread has for itself. The
// longer a row, the more threads have a share of it, down to CHAIN terms each, and their sums form a tree. So n is that of
// a chain, repeats are those of a chain, and `plain` begins anew where one ends. Contractions are LONG: tensor cores take
// all their terms in one chain, and truncate. That drifts no farther than over DRIFTING terms.
static constexpr double REPEAT = 0.875, DRIFT = 2;
// The magnitude of a finite number, 0 of others.
static inline double finite_size(real x) {
  const double size = mag(x);
  return size < cg_inf() ? size : 0.0;
}
template <bool LONG>
struct SumOf {
  real v = 0, last = 0, chains = 0, short_chains = 0;
  scalar_t plain = 0, short_plain = 0;
  uint32_t added = 0;
  // the counts are doubles: masks and additions, no branches
  double e = 0, magnitude = 0, n = 0, repeats = 0;
  void add(Exact t) {
    v += t.v;
    magnitude += finite_size(t.v);
    plain += scalar_t(t.v);
    if (!LONG) add_to_chains(scalar_t(t.v));
    const double counts = t.v != 0 ? 1.0 : 0.0;
    n += counts;
    repeats += t.v == last ? counts : 0.0;
    last = t.v != 0 ? t.v : last;
  }
  void add(VE t) { add(Exact{t.v}); e += t.e; }
  void add_to_chains(scalar_t t) {
    short_plain += t;
    ++added;
    if (added % CHAIN == 0) short_chains += real(short_plain), short_plain = 0;
    if (added % LONGEST == 0) chains += real(plain), plain = 0;
  }
  // Terms of the longest chain that is honest.
  double chain() const {
    const double shared = double(LONGEST) * LONGEST / n;
    return LONG || n < LONGEST ? n : shared > CHAIN ? shared : CHAIN;
  }
  // What honest chains lost.
  double lost() const {
    return mag(v - (LONG || chain() > CHAIN ? chains + real(plain) : short_chains + real(short_plain)));
  }
  VE bounded(double scale, double alike, double drift) const {
    // what an accumulator may not hold in some order: not judged
    if (!(magnitude + e <= ACC_MAX)) return VE(v, cg_inf());
    const double length = chain(), drifting = length < DRIFTING ? length : DRIFTING;
    const double repeating = n > length ? alike * length / n : alike;
    const double roundings = 2 * std::sqrt(length) + drifting / 8 + REPEAT * repeating;
    const double rounding = roundings * U_ACC * (magnitude + e);
    return VE(v, e + scale * ((drift > rounding ? drift : rounding) + n * CG_ETA));
  }
  VE result(double scale) const { return bounded(scale, repeats, DRIFT * lost()); }
  // Terms taken for independent.
  VE usual(double scale) const { return bounded(scale, 0, 0); }
};
using Sum = SumOf<false>;
using LongSum = SumOf<true>;

// A sum of products of two 8-bit floats, which tensor cores may form. Hopper's bring the 32 products of an instruction,
// and what was summed before, to the largest exponent among them and drop what lies more than 13 bits below (DeepSeek-AI,
// "DeepSeek-V3 Technical Report", 2024, section 3.5.2), until the sum is promoted after 128. So each instruction loses up
// to 2^-13 of `most`, the largest term or partial sum, and terms far below the largest as much in either direction.
struct SumOf8Bits {
  LongSum sum;
  double most = 0;
  void add(Exact t) {
    sum.add(t);
    const double larger = mag(t.v) > mag(sum.v) ? mag(t.v) : mag(sum.v);
    most = larger > most ? larger : most;
  }
  void add(VE t) { add(Exact{t.v}); sum.e += t.e; }
  VE result(double scale) const {
    const VE usual = sum.result(scale);
    if (usual.v != usual.v || is_infinite(usual.v)) return usual;
    const double instructions = sum.n < 128 ? std::ceil(sum.n / 32) : 4;
    return VE(usual.v, known(usual.e + (instructions + std::sqrt(sum.n) / 2) * 0x1p-13 * most));
  }
};

// A product: one rounding a factor. `large` is the largest partial product of any order, `small` the smallest of the
// finite factors, and 0 with one that is.
struct Prod {
  real v = 1;
  double e = 0, large = 1, small = 1;
  long long n = 0;
  bool zero = false, nan = false, infinite = false;
  void add(VE t) {
    e = product_error(VE(v, e), t);
    v *= t.v;
    const double size = mag(t.v), most = size + t.e;
    if (most > 1) large *= most;
    if (size < 1) small *= size > t.e ? size - t.e : 0;
    zero |= t.v == 0 && t.e == 0;
    nan |= t.v != t.v;
    infinite |= is_infinite(t.v);
    ++n;
  }
  void add(Exact t) { add(VE(t)); }
  VE result(double) const {
    const bool flushes = small * U_ACC < 2 * CG_ETA, overflows = !(large <= ACC_MAX);
    // What overflows in some orders is NaN there beside a 0, or beside what underflows, and 0 in others: anything is right.
    // After a factor that is NaN, or infinite beside a 0, every order gives NaN.
    if (overflows && flushes && !nan && !(infinite && zero)) return VE(v, cg_inf());
    if (is_infinite(v) || v != v) return VE(v, known(e));
    if (overflows) return VE(v, cg_inf());
    if (zero || n == 0) return VE(v, e);
    const double roundings = double(n - 1) * U_ACC;
    // a partial product below the normal numbers loses ETA, and what comes after enlarges that
    const double lost = flushes ? double(n) * CG_ETA * large : 0;
    return VE(v, known(e + roundings * (1 + roundings) * (mag(v) + e) + lost));
  }
};

// The largest (sign -1, starts at -inf) or smallest (sign 1) value; NaN stays.
struct Extreme {
  real v;
  double e = 0;
  int sign;
  explicit Extreme(int s) : v(s * cg_inf()), sign(s) {}
  void add(VE t) {
    if (t.e > e) e = t.e;
    if (t.v != t.v || (v == v && (sign < 0 ? t.v > v : t.v < v))) v = t.v;
  }
  void add(Exact t) { add(VE(t)); }
  VE result(double) const { return VE(v, e); }
};

// Integers are exact while any order of the terms stays within the limit.
struct ISum {
  int64_t limit;
  wide v = 0, e = 0, magnitude = 0;
  explicit ISum(int64_t most) : limit(most) {}
  void add(IV t) {
    v += t.v;
    magnitude += size_of(t.v);
    e += t.e;
  }
  IV result(double) const { return integer(v, magnitude + e > limit ? wide(UNKNOWN) : e); }
};

struct IProd {
  int64_t limit;
  IV v = {1, 0};
  wide large = 1;
  explicit IProd(int64_t most) : limit(most) {}
  void add(IV t) {
    const wide size = size_of(t.v) + t.e, beyond = wide(UNKNOWN) + 1;
    v = v * t;
    if (size > 1) large *= size;
    if (large > beyond) large = beyond;
  }
  IV result(double) const { return large > limit ? IV{v.v, UNKNOWN} : v; }
};

struct IExtreme {
  IV v;
  int sign;
  explicit IExtreme(int s) : v{s < 0 ? INT64_MIN : INT64_MAX, 0}, sign(s) {}
  bool empty = true;
  void add(IV t) {
    v = empty ? t : sign < 0 ? cg_max(v, t) : cg_min(v, t);
    empty = false;
  }
  IV result(double) const { return v; }
};

// A term of an index: its value with the error, in a type that holds each of them exactly.
template <class T>
struct Ranged { T v, e; };
static inline Ranged<real> ranged(VE t) { return Ranged<real>{t.v, real(t.e)}; }
static inline Ranged<real> ranged(Exact t) { return ranged(VE(t)); }
static inline Ranged<wide> ranged(IV t) { return Ranged<wide>{t.v, t.e == UNKNOWN ? wide(1) << 66 : wide(t.e)}; }

// The index of the largest (sign -1) or smallest (sign 1) value: the lowest among equals, the first NaN if there is
// one. Another index may be right when its value can reach the surest one: the highest of all lower ends. Which those
// are is known once every term was added.
template <class T>
struct Leader {
  int sign;
  bool any = false, nan = false, unknown_nan = false;
  int64_t best = 0, surest = 0;
  T best_value = 0, floor = 0;  // of the best value, and of the surest one's lower end
  explicit Leader(int s) : sign(s) {}

  T upper(Ranged<T> t) const { return (sign < 0 ? t.v : -t.v) + t.e; }
  void add(int64_t index, Ranged<T> t) {
    if (t.v != t.v) {
      best = nan ? cg_imin(best, index) : index;
      nan = any = true;
      unknown_nan |= t.e != 0;
    }
    if (nan) return;
    const T v = sign < 0 ? t.v : -t.v, low = v - t.e;
    if (!any || v > best_value || (v == best_value && index < best)) best = index, best_value = v;
    if (!any || low > floor || (low == floor && index < surest)) surest = index, floor = low;
    any = true;
  }
  // at its upper end it beats the surest one, or is equal to it and the lower index
  bool reaches(int64_t index, T up) const { return up > floor || (up == floor && index <= surest); }
  bool is_also_right(int64_t index, T up) const { return index != best && !nan && reaches(index, up); }
  int64_t apart_from(int64_t index) const { return index > best ? index - best : best - index; }
  IV result(int64_t farthest) const { return IV{best, unknown_nan ? UNKNOWN : farthest}; }
};

// The bound of a result.
static inline double error_of(VE x) { return x.e + apart(real(double(x.v)), x.v); }
static inline double error_of(IV x) { return double(x.e); }
static inline double error_of(Cond x) { return x.sure ? 0.0 : 1.0; }
