// kit/product.cuh: the main loop of a product, y[m, n] = sum(k, a[m, k] * b[n, k]), with loaders of your own.
//
// A ring of STAGES tiles in shared memory is filled ahead of tensor cores. A loader gives one factor, piece by piece:
// `T`; `K_MAJOR` (a piece is VECTOR<T> neighbours along k, or along rows); `Line line(int row)`, what it keeps of a row
// of the tile; `Held fetch(void* to, Line, int k)`, which starts a copy of the piece to `to` by load16_async or reads it
// to registers; `put(void* to, Held)`, which stores those. Outside, a piece is zeros.
#include <kit/index.cuh>
#include <kit/mma.cuh>
#include <kit/pipeline.cuh>
namespace kit {

/// Line, or Held, of a loader that keeps nothing.
struct Nothing {};

/// Loader `Rows<T>{data, stride, first, rows, k}`: (row, k) at data[row * stride + k], data and stride on 16 bytes. `first` row
/// of the tile; `rows`, `k` of the whole.
template <class T_>
struct Rows {
  using T = T_;
  using Held = Nothing;
  static constexpr bool K_MAJOR = true;
  struct Line {
    T const* at;
    bool in;
  };
  T const* data;
  int64_t stride;
  int first, rows, k;

  __device__ __forceinline__ Line line(int row) const {
    const bool in = first + row < rows;
    return {data + (in ? int64_t(first + row) * stride : 0), in};
  }
  __device__ __forceinline__ Held fetch(void* to, Line const& line, int at) const {
    const int left = line.in ? k - at : 0;
    ptx_copy16(to, left > 0 ? line.at + at : data, left <= 0 ? 0 : left < VECTOR<T> ? left * int(sizeof(T)) : 16);
    return {};
  }
  __device__ __forceinline__ void put(void*, Held) const {}
};

/// Loader: (row, k) at data[k * stride + row], likewise; T of 16 bits.
template <class T_>
struct Columns {
  using T = T_;
  using Held = Nothing;
  static constexpr bool K_MAJOR = false;
  struct Line {
    T const* at;
    int bytes;
  };
  T const* data;
  int64_t stride;
  int first, rows, k;

  __device__ __forceinline__ Line line(int row) const {
    const int left = rows - first - row;
    return {data + (left > 0 ? first + row : 0), left <= 0 ? 0 : left < VECTOR<T> ? left * int(sizeof(T)) : 16};
  }
  __device__ __forceinline__ Held fetch(void* to, Line const& line, int at) const {
    const bool in = at < k;
    ptx_copy16(to, line.at + (in ? int64_t(at) * stride : 0), in ? line.bytes : 0);
    return {};
  }
  __device__ __forceinline__ void put(void*, Held) const {}
};

// A loader by elements, through registers.
template <class T_, class F>
struct Gathered {
  using T = T_;
  using Line = int;
  static constexpr bool K_MAJOR = true;
  struct Held {
    T x[VECTOR<T_>];
  };
  F value;

  __device__ __forceinline__ Line line(int row) const { return row; }
  __device__ __forceinline__ Held fetch(void*, Line row, int at) const {
    Held held;
#pragma unroll
    for (int i = 0; i < VECTOR<T>; ++i) held.x[i] = value(row, at + i);
    return held;
  }
  __device__ __forceinline__ void put(void* to, Held const& held) const { memcpy(__builtin_assume_aligned(to, 16), held.x, 16); }
};
/// Loader by elements, for any address: `gathered<T>(f)`, where f(row of the tile, k) is a T, zero outside. F is deduced.
template <class T, class F>
__device__ __forceinline__ Gathered<T, F> gathered(F value) { return {value}; }

// A thread's pieces of each tile: the same places of every one.
template <class Tile, class Loader, int THREADS>
struct TileCopy {
  static constexpr int STEP = THREADS / Tile::WIDTH, PASSES = (Tile::LINES + STEP - 1) / STEP, EACH = Tile::EACH;
  Loader loader;
  typename Loader::Line lines[Tile::IS_K_MAJOR ? PASSES : Tile::BLOCKS];
  typename Loader::Held held[PASSES * Tile::BLOCKS];

  __device__ __forceinline__ explicit TileCopy(Loader const& from, int first_row = 0) : loader(from) { rows_from(first_row); }
  // Asks the loader for the lines of a tile.
  __device__ __forceinline__ void rows_from(int first) {
    const int column = thread_rank() % Tile::WIDTH, line = thread_rank() / Tile::WIDTH;
#pragma unroll
    for (int i = 0; i < (Tile::IS_K_MAJOR ? PASSES : Tile::BLOCKS); ++i) {
      lines[i] = loader.line(first + (Tile::IS_K_MAJOR ? line + i * STEP : (i * Tile::WIDTH + column) * EACH));
    }
  }
  template <class F>
  __device__ __forceinline__ static void each(F const& f) {
    const int column = thread_rank() % Tile::WIDTH, line = thread_rank() / Tile::WIDTH;
#pragma unroll
    for (int b = 0; b < Tile::BLOCKS; ++b) {
#pragma unroll
      for (int i = 0; i < PASSES; ++i) {
        if (Tile::LINES % STEP == 0 || line + i * STEP < Tile::LINES) f(line + i * STEP, b * Tile::WIDTH + column, b, i);
      }
    }
  }
  __device__ __forceinline__ void fetch(unsigned char* tile, int first_k) {
    each([&](int line, int piece, int b, int i) {
      const int k = first_k + (Tile::IS_K_MAJOR ? piece * EACH : line);
      held[b * PASSES + i] = loader.fetch(tile + Tile::byte_of(line, piece), lines[Tile::IS_K_MAJOR ? i : b], k);
    });
  }
  __device__ __forceinline__ void put(unsigned char* tile) const {
    each([&](int line, int piece, int b, int i) { loader.put(tile + Tile::byte_of(line, piece), held[b * PASSES + i]); });
  }
};

// A tile whose rows are asked for anew: rows [first, first + ROWS) of a K_MAJOR loader, all of k.
template <class Tile, int THREADS, class Loader>
__device__ __forceinline__ void copy_rows(Loader const& loader, unsigned char* tile, int first) {
  constexpr int STEP = THREADS / Tile::WIDTH;
  static_assert(Loader::K_MAJOR && Tile::IS_K_MAJOR, "rows");
  const int column = thread_rank() % Tile::WIDTH;
#pragma unroll 2
  for (int row = thread_rank() / Tile::WIDTH; row < Tile::LINES; row += STEP) {
    const auto line = loader.line(first + row);
#pragma unroll
    for (int piece = column; piece < Tile::PIECES; piece += Tile::WIDTH) {
      unsigned char* const to = tile + Tile::byte_of(row, piece);
      loader.put(to, loader.fetch(to, line, piece * Tile::EACH));
    }
  }
}

// Behind a tile of k: nothing.
struct NoStep {
  __device__ __forceinline__ void operator()(int) const {}
};

// Tiles of both factors in shared memory, of which those before `end` are filled.
template <class Mma, class LoadA, class LoadB, int STAGES>
struct ProductRing {
  using TileA = Tile<typename Mma::T, Mma::M, Mma::K, LoadA::K_MAJOR>;
  using TileB = Tile<typename Mma::T, Mma::N, Mma::K, LoadB::K_MAJOR>;
  static constexpr int STAGE = TileA::BYTES + TileB::BYTES, BYTES = STAGES * STAGE;
  TileCopy<TileA, LoadA, Mma::THREADS> copy_a;
  TileCopy<TileB, LoadB, Mma::THREADS> copy_b;
  unsigned char* memory;
  int end;

  __device__ __forceinline__ ProductRing(LoadA const& load_a, LoadB const& load_b, unsigned char* memory, int end)
      : copy_a(load_a), copy_b(load_b), memory(memory), end(end) {}
  __device__ __forceinline__ SharedAt a(int slot) const { return ptx_shared(memory) + slot * STAGE; }
  __device__ __forceinline__ SharedAt b(int slot) const { return a(slot) + TileA::BYTES; }
  __device__ __forceinline__ void fetch(int slot, int tile) {
    unsigned char* const to = memory + slot * STAGE;
    if (tile < end) copy_a.fetch(to, tile * Mma::K), copy_b.fetch(to + TileA::BYTES, tile * Mma::K);
    commit_loads();
  }
  __device__ __forceinline__ void put(int slot, int tile) const {
    unsigned char* const to = memory + slot * STAGE;
    if (tile < end) copy_a.put(to), copy_b.put(to + TileA::BYTES);
  }
};

/// The loop. BYTES = STAGES (M + N) K sizeof(T) of shared memory that begin on 1024.
template <class Mma, class LoadA, class LoadB, int STAGES = 3>
struct Product {
  using Ring = ProductRing<Mma, LoadA, LoadB, STAGES>;
  static constexpr int BYTES = Ring::BYTES;
  static_assert(STAGES >= 3, "one stage is read, one has arrived, one is on its way");

  /// Adds the sum over tiles [begin, end) of k to `sums`. All threads call; memory is free on return. `after(tile)` comes
  /// behind each tile's sums, as where a group of k ends.
  template <class After = NoStep>
  __device__ __forceinline__ static void run(typename Mma::Accumulators& sums, LoadA const& load_a, LoadB const& load_b,
                                             unsigned char* memory, int begin, int end, After const& after = {}) {
    Ring ring(load_a, load_b, memory, end);
    const auto load = [&](typename Mma::Fragments& f, int slot, int step) {
      Mma::template load<typename Ring::TileA, typename Ring::TileB>(f, ring.a(slot), ring.b(slot), step);
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) ring.fetch(s, begin + s), ring.put(s, begin + s);
    wait_loads<STAGES - 2>();
    __syncthreads();
    typename Mma::Fragments fragments[2];
    load(fragments[0], 0, 0);
    int slot = 0, next = STAGES - 1;
#pragma unroll 1
    for (int tile = begin; tile < end; ++tile) {
      ring.fetch(next, tile + STAGES - 1);
#pragma unroll
      for (int step = 0; step < Mma::STEPS; ++step) {
        if (step == Mma::STEPS - 1) {  // the next stage is there
          wait_loads<STAGES - 2>();
          __syncthreads();
          slot = slot + 1 == STAGES ? 0 : slot + 1;
        }
        load(fragments[(step + 1) % 2], slot, (step + 1) % Mma::STEPS);
        Mma::multiply(sums, fragments[step % 2]);
      }
      after(tile);
      ring.put(next, tile + STAGES - 1);
      next = next + 1 == STAGES ? 0 : next + 1;
      if constexpr (Mma::STEPS % 2 == 1) fragments[0] = fragments[1];
    }
    wait_loads<0>();
    __syncthreads();
  }
};

/// `batch`, `m`, `n` of a tile, by `of` a block's number.
struct TileOrder {
  int64_t batch;
  int m, n;
  /// `group` tiles of rows go through the columns together, for L2.
  __device__ __forceinline__ static TileOrder of(int64_t number, int tiles_m, int tiles_n, int group = 8) {
    const int64_t of_batch = int64_t(tiles_m) * tiles_n;
    const int in_batch = int(number % of_batch), in_group = group * tiles_n, first = in_batch / in_group * group;
    const int rows = tiles_m - first < group ? tiles_m - first : group;
    return {number / of_batch, first + in_batch % in_group % rows, in_batch % in_group / rows};
  }
};

}  // namespace kit
