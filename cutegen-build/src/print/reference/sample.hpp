// Which elements of an output are computed where all of them cost too much. Of 64 neighbouring lines of an axis one is taken,
// chosen by the seed, and the first and the last; of two cut axes all elements on such lines, or those where they meet.

static constexpr int64_t STRATUM = 64;

// An axis that is cut: its position, its extent, and how many points of a step's loops its own loop steps over.
struct Cut { int64_t axis, extent, stride; };

// The number of a point, among points without this loop, with it.
static inline int64_t inserted(Cut cut, int64_t point, int64_t line) {
  return (point / cut.stride * cut.extent + line) * cut.stride + point % cut.stride;
}

struct Sample {
  int64_t seed;
  bool is_grid;
  // 0: everything is computed. Below it only where lines meet.
  explicit Sample(double word) : seed(int64_t(word < 0 ? -word : word)), is_grid(word < 0) {}

  bool is_on() const { return seed != 0; }
  static int64_t strata(Cut cut) { return (cut.extent + STRATUM - 1) / STRATUM; }
  int64_t chosen(Cut cut, int64_t stratum) const {
    const int64_t first = stratum * STRATUM, left = cut.extent - first;
    uint64_t x = uint64_t(seed) * 0x9e3779b97f4a7c15ull + uint64_t(cut.axis * 0x10001 + stratum + 1) * 0xd1b54a32d192ed03ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return first + int64_t((x ^ (x >> 31)) % uint64_t(left < STRATUM ? left : int64_t(STRATUM)));
  }
  bool has(Cut cut, int64_t line) const {
    return line == 0 || line == cut.extent - 1 || line == chosen(cut, line / STRATUM);
  }
  // The lines of an axis: one for each stratum and the two ends, each once; -1 for what is one already.
  static int64_t lines(Cut cut) { return cut.extent == 0 ? 0 : strata(cut) + 2; }
  int64_t line(Cut cut, int64_t number) const {
    const int64_t many = strata(cut), last = cut.extent - 1;
    if (number < many) return chosen(cut, number);
    if (number == many) return chosen(cut, 0) == 0 ? -1 : 0;
    return last == 0 || chosen(cut, many - 1) == last ? -1 : last;
  }

  // Points to go through instead of so many, and which of them the i-th is, or -1. One axis that is cut:
  int64_t points(int64_t total, Cut cut) const {
    return is_on() && total > 0 ? total / cut.extent * lines(cut) : total;
  }
  int64_t point(int64_t i, int64_t total, Cut cut) const {
    if (!is_on()) return i;
    const int64_t each = total / cut.extent, at = line(cut, i / each);
    return at < 0 ? -1 : inserted(cut, i % each, at);
  }
  bool skips(Cut cut, int64_t at) const { return is_on() && !has(cut, at); }

  // Two, of which the second is the inner one:
  int64_t points(int64_t total, Cut outer, Cut inner) const {
    return is_on() && total > 0 ? total / outer.extent / inner.extent * each(outer, inner) : total;
  }
  int64_t point(int64_t i, int64_t, Cut outer, Cut inner) const {
    if (!is_on()) return i;
    const int64_t rest = i / each(outer, inner);
    int64_t at = i % each(outer, inner), a, b;
    const int64_t across = is_grid ? lines(inner) : inner.extent;
    if (at < lines(outer) * across) {
      a = line(outer, at / across);
      b = is_grid ? line(inner, at % across) : at % across;
    } else {
      at -= lines(outer) * across;
      a = at % outer.extent;
      b = has(outer, a) ? -1 : line(inner, at / outer.extent);
    }
    return a < 0 || b < 0 ? -1 : inserted(outer, inserted(inner, rest, b), a);
  }
  bool skips(Cut outer, int64_t a, Cut inner, int64_t b) const {
    return is_on() && !(is_grid ? has(outer, a) && has(inner, b) : has(outer, a) || has(inner, b));
  }

 private:
  int64_t each(Cut outer, Cut inner) const {
    return is_grid ? lines(outer) * lines(inner) : lines(outer) * inner.extent + outer.extent * lines(inner);
  }
};
