// Sums of products on f64 tensor cores (PTX ISA, `mma.m8n8k4` for .f64), for the many elements of large contractions. A
// block has ROWS x COLUMNS elements of a sum at a time and takes DEPTH of its terms per step: factors as panels in shared
// memory, values and magnitudes multiplied side by side, terms that are not zero counted in bit masks.
//
// ROWS, COLUMNS and AGAIN, how many elements are made again, are defined before this.
//
// An element sees no order of its terms here. So it has the bound of independent ones, LongSum::usual, which is narrower than
// that of a serial sum where terms repeat or lie on a coarse lattice.
static constexpr int DEPTH = 16;
// 8-byte words of a panel's row: eight rows of four words lie in different banks
static constexpr int PITCH = DEPTH + 4;

struct Extents {
  int64_t batches, rows, columns, depth;
  bool is_empty() const { return batches == 0 || rows == 0 || columns == 0; }
};

template <bool MAGNITUDE>
static inline double factor(double x) { return MAGNITUDE ? std::fabs(x) : x; }

#ifdef CG_FRAGMENT
CG_FRAGMENT
#else
// What a thread has of a block's elements: of each warp's 32 x 16, in tiles of 8 x 8, two neighbours of a row a tile.
struct Fragment {
  static constexpr int TILES_M = 4, TILES_N = 2, COUNT = 2 * TILES_M * TILES_N;
  double at[COUNT] = {};
  static int warp_row() { return int(threadIdx.x / 64) * 8 * TILES_M; }
  static int warp_column() { return int(threadIdx.x / 32 % 2) * 8 * TILES_N; }
  static int lane() { return int(threadIdx.x % 32); }
  static int row(int i) { return warp_row() + i / 2 / TILES_N * 8 + lane() / 4; }
  static int column(int i) { return warp_column() + i / 2 % TILES_N * 8 + lane() % 4 * 2 + i % 2; }

  // += left * right^T
  template <bool MAGNITUDES>
  void add(const double (&left)[ROWS][PITCH], const double (&right)[COLUMNS][PITCH]) {
#pragma unroll
    for (int k = 0; k < DEPTH; k += 4) {
      double a[TILES_M], b[TILES_N];
#pragma unroll
      for (int m = 0; m < TILES_M; ++m) a[m] = factor<MAGNITUDES>(left[warp_row() + 8 * m + lane() / 4][k + lane() % 4]);
#pragma unroll
      for (int n = 0; n < TILES_N; ++n) b[n] = factor<MAGNITUDES>(right[warp_column() + 8 * n + lane() / 4][k + lane() % 4]);
#pragma unroll
      for (int m = 0; m < TILES_M; ++m)
#pragma unroll
        for (int n = 0; n < TILES_N; ++n) {
          double* const d = at + 2 * (m * TILES_N + n);
          asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
              : "+d"(d[0]), "+d"(d[1]) : "d"(a[m]), "d"(b[n]));
        }
    }
  }
};
#endif

// Whether a factor may have an error of its own.
template <class T>
static constexpr bool HAS_ERROR = true;
template <>
constexpr bool HAS_ERROR<Exact> = CG_FAST;

// One side of a block's terms, zero beyond its ends.
template <int LINES, bool ERRORS>
struct Panel {
  double v[LINES][PITCH], e[ERRORS ? LINES : 1][PITCH];
  unsigned terms[LINES];  // by line: bit k, whether factor k is not zero

  template <class Factor>
  void fill(int64_t first, int64_t lines, int64_t k, int64_t depth, Factor of) {
    for (int i = int(threadIdx.x); i < LINES * DEPTH; i += int(blockDim.x)) {
      const int line = i / DEPTH, at = i % DEPTH;
      const bool inside = first + line < lines && k + at < depth;
      if constexpr (ERRORS) {
        const VE x = inside ? VE(of(first + line, k + at)) : VE();
        v[line][at] = x.v, e[line][at] = x.e;
      } else {
        v[line][at] = inside ? of(first + line, k + at).v : 0;
      }
    }
  }
  void count() {
    for (int line = int(threadIdx.x); line < LINES; line += int(blockDim.x)) {
      unsigned bits = 0;
      for (int at = 0; at < DEPTH; ++at) bits |= unsigned(v[line][at] != 0) << at;
      terms[line] = bits;
    }
  }
};

// left(batch, row, k) and right(batch, column, k) are the factors; store(batch, row, column, sum) takes each sum.
template <class Left, class Right, class Store>
static inline void sums_of_products(Extents size, Left left, Right right, Store store) {
  constexpr bool ERRORS = HAS_ERROR<decltype(left(0, 0, 0))> || HAS_ERROR<decltype(right(0, 0, 0))>;
  __shared__ Panel<ROWS, ERRORS> a;
  __shared__ Panel<COLUMNS, ERRORS> b;
  const int64_t down = (size.rows + ROWS - 1) / ROWS, across = (size.columns + COLUMNS - 1) / COLUMNS;
  for (int64_t tile = blockIdx.x; tile < size.batches * down * across; tile += gridDim.x) {
    const int64_t batch = tile / (down * across);
    const int64_t row = tile / across % down * ROWS, column = tile % across * COLUMNS;
    Fragment v, magnitude, error;
    int n[Fragment::COUNT] = {};
    for (int64_t k = 0; k < size.depth; k += DEPTH) {
      __syncthreads();
      a.fill(row, size.rows, k, size.depth, [&](int64_t line, int64_t at) { return left(batch, line, at); });
      b.fill(column, size.columns, k, size.depth, [&](int64_t line, int64_t at) { return right(batch, line, at); });
      __syncthreads();
      a.count(), b.count();
      v.template add<false>(a.v, b.v);
      magnitude.template add<true>(a.v, b.v);
      // |a| e_b + |b| e_a + e_a e_b, as product_error has it
      if constexpr (ERRORS) error.template add<true>(a.v, b.e), error.template add<true>(a.e, b.v), error.template add<true>(a.e, b.e);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < Fragment::COUNT; ++i) n[i] += __popc(a.terms[Fragment::row(i)] & b.terms[Fragment::column(i)]);
    }
#pragma unroll
    for (int i = 0; i < Fragment::COUNT; ++i) {
      const int64_t r = row + Fragment::row(i), c = column + Fragment::column(i);
      if (r >= size.rows || c >= size.columns) continue;
      LongSum s;
      if (mag(v.at[i]) < cg_inf()) {
        s.v = v.at[i], s.magnitude = magnitude.at[i], s.e = error.at[i], s.n = n[i];
      } else {  // beside NaN and infinities no product of an error tells which of them every kernel has
        for (int64_t k = 0; k < size.depth; ++k) s.add(left(batch, r, k) * right(batch, c, k));
      }
      store(batch, r, c, s);
    }
  }
}

// Element i of those that are also made one term after another: each place of a tile in any tile, and each in one of the last
// row or column of tiles, which may not be full.
struct Place { int64_t batch, row, column; };
static inline int64_t scattered(uint64_t x, int64_t end) {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return int64_t((x ^ (x >> 31)) % uint64_t(end));
}
static inline Place crossing(int64_t i, Extents size) {
  const int64_t down = (size.rows + ROWS - 1) / ROWS, across = (size.columns + COLUMNS - 1) / COLUMNS;
  const bool is_last = i >= ROWS * COLUMNS;
  const int64_t tile_row = is_last && i % 3 != 0 ? down - 1 : scattered(3 * i + 1, down);
  const int64_t tile_column = is_last && i % 3 != 1 ? across - 1 : scattered(3 * i + 2, across);
  const int64_t row = tile_row * ROWS + i / COLUMNS % ROWS, column = tile_column * COLUMNS + i % COLUMNS;
  return Place{scattered(3 * i + 3, size.batches), row % size.rows, column % size.columns};
}
// Whether two ways to the sum s, with so many terms of such a magnitude, differ by more than f64 rounds.
static inline bool differ(VE held, VE again, const LongSum& s) {
  if (!(again.e < cg_inf())) return held.e < cg_inf();
  if (again.v != again.v || is_infinite(again.v)) return apart(held.v, again.v) > 0;
  const double lost = (s.n + 1) * 0x1p-52 * s.magnitude;
  return !(mag(held.v - again.v) <= lost) || !(std::fabs(held.e - again.e) <= 1e-9 * again.e + lost * 0x1p-24);
}
