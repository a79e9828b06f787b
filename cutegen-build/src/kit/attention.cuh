// kit/attention.cuh: o[row] = sum(t, weight(row, t) * v[t]) / sum(t, weight(row, t)): two products around an online softmax.
//
// A block has WARPS warps with 16 R rows (queries) each, and goes through tiles of KV keys. Loaders as in product.cuh, all
// of them K_MAJOR: of queries (row of the tile, d), of keys and of values (key, d). Which head a row or a block is of is
// the caller's arithmetic: queries of heads that share keys may be rows of one tile.
#include <kit/math.cuh>
#include <kit/product.cuh>
#include <kit/reduce.cuh>
namespace kit {

/// Scores `Band{scale * LOG2E, keys, low, high}`: row r sees keys r + low to r + high. Causal: low = -keys, high = 0; a window of
/// w: low = 1 - w. For a bias or other rows write your own three functions, scores being in powers of 2:
/// `float score(float dot, int row, int key) const`, `bool sees(int row, int key) const`, and whether all rows see all keys of a
/// tile, `bool sees_all(int row, int rows, int key, int keys) const`.
struct Band {
  float scale;
  int keys, low, high;
  __device__ __forceinline__ float score(float dot, int, int) const { return dot * scale; }
  __device__ __forceinline__ bool sees(int row, int key) const { return key < keys && key - row >= low && key - row <= high; }
  __device__ __forceinline__ bool sees_all(int row, int rows, int key, int many) const {
    return key + many <= keys && key - (row + rows - 1) >= low && key + many - 1 - row <= high;
  }
};
/// log2(e).
inline constexpr float LOG2E = 1.44269504f;

// Both products of a tile by mma.sync: S of `s` over D, and what `s` adds to `o` over KV.
template <class A>
struct MmaProducts {
  using T = typename A::T;
  // Between the arrival of this thread's copies and the barrier.
  __device__ __forceinline__ static void arrive() {}
  __device__ __forceinline__ static void score(Sums<A::R, A::S>& s, SharedAt q, SharedAt keys) {
    s.clear();
#pragma unroll
    for (int d = 0; d < A::D; d += 16) {
      uint32_t a[A::R][4], b[2][2];
#pragma unroll
      for (int i = 0; i < A::R; ++i) A::TileQ::load_16(a[i], q, A::warp_row() + i * 16, d);
#pragma unroll
      for (int j = 0; j < A::S; j += 2) {
        A::TileK::load_8x2(b[0], b[1], keys, j * 8, d);
#pragma unroll
        for (int i = 0; i < A::R; ++i) ptx_mma(T(), s.d[i][j], a[i], b[0]), ptx_mma(T(), s.d[i][j + 1], a[i], b[1]);
      }
    }
  }
  __device__ __forceinline__ static void add(Sums<A::R, A::O>& o, Sums<A::R, A::S> const& s, SharedAt values) {
#pragma unroll
    for (int k = 0; k < A::S; k += 2) {
      uint32_t p[A::PARTS][A::R][4], b[2][2];
      A::split(p, s, k);
#pragma unroll
      for (int j = 0; j < A::O; j += 2) {
        A::TileV::load_8x2(b[0], b[1], values, j * 8, k * 8);
#pragma unroll
        for (int i = 0; i < A::R * A::PARTS; ++i) {
          ptx_mma(T(), o.d[i % A::R][j], p[i / A::R][i % A::R], b[0]), ptx_mma(T(), o.d[i % A::R][j + 1], p[i / A::R][i % A::R], b[1]);
        }
      }
    }
  }
};

// Whether a product goes on beside other work, once it has been started.
template <template <class> class Products>
constexpr bool STARTS_AHEAD = false;

/// ROWS = WARPS R 16 queries a block, THREADS = 32 WARPS; BYTES = (ROWS + 2 STAGES KV) D sizeof(T) of shared memory that begin
/// on 1024. P_PARTS: 1 rounds weights to T, which `intermediates` must allow; 2 adds what that lost.
template <class T_, int D_, int KV_, int WARPS_, int R_ = 1, int STAGES = 2, int P_PARTS = 1,
          template <class> class Products = MmaProducts>
struct Attention {
  using T = T_;
  static constexpr int D = D_, KV = KV_, WARPS = WARPS_, R = R_, ROWS = WARPS * R * 16, THREADS = WARPS * 32, PARTS = P_PARTS;
  using TileQ = Tile<T, ROWS, D>;
  using TileK = Tile<T, KV, D>;
  using TileV = Tile<T, D, KV, false>;  // the same bytes as Tile<T, KV, D>
  static constexpr int STAGE = TileK::BYTES + TileV::BYTES, BYTES = TileQ::BYTES + STAGES * STAGE;
  static_assert(sizeof(T) == 2 && D % 16 == 0 && KV % 16 == 0 && STAGES >= 2, "16-bit elements, whole instructions");
  static constexpr int S = KV / 8, O = D / 8;  // fragments of 8 columns
  static constexpr bool AHEAD = STARTS_AHEAD<Products> && STAGES > 2;

  // What a warp has: sums, and of each row its greatest score and the sum of its weights.
  struct State {
    Sums<R, O> o;
    float top[R][2], sum[R][2];
  };

  /// Over tiles [begin, end) of KV keys. `first_row` is the tile's first row for `scores`. All threads call.
  template <class LoadQ, class LoadK, class LoadV, class Scores>
  __device__ __forceinline__ static State run(LoadQ const& load_q, LoadK const& load_k, LoadV const& load_v, Scores const& scores,
                                              int first_row, unsigned char* memory, int begin, int end) {
    unsigned char* const ring = memory + TileQ::BYTES;
    const auto fetch = [&](int slot, int tile) {
      if (tile < end) {
        copy_rows<TileK, THREADS>(load_k, ring + slot * STAGE, tile * KV);
        copy_rows<TileK, THREADS>(load_v, ring + slot * STAGE + TileK::BYTES, tile * KV);
      }
      commit_loads();
    };
    State state;
    state.o.clear();
#pragma unroll
    for (int i = 0; i < R * 2; ++i) state.top[i / 2][i % 2] = -infinity(), state.sum[i / 2][i % 2] = 0.0f;
    copy_rows<TileQ, THREADS>(load_q, memory, 0);
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch(s, begin + s);
    Sums<R, AHEAD ? S : 1> ahead;
    int slot = 0, next = STAGES - 1;
    const SharedAt q = ptx_shared(memory), stages = ptx_shared(ring);
    if constexpr (AHEAD) {
      if (begin < end) arrived<STAGES - 2>(), Products<Attention>::score(ahead, q, stages);
    }
#pragma unroll 1
    for (int tile = begin; tile < end; ++tile) {
      const int later = slot + 1 == STAGES ? 0 : slot + 1;
      Sums<R, S> s;
      if constexpr (AHEAD) {  // the next tile's scores begin while this one's become weights
        s = ahead;
        if (tile + 1 < end) {
          arrived<STAGES - 3>();
          fetch(next, tile + STAGES - 1);
          Products<Attention>::start(ahead, q, stages + later * STAGE);
        }
      } else {
        arrived<STAGES - 2>();
        fetch(next, tile + STAGES - 1);
        Products<Attention>::score(s, q, stages + slot * STAGE);
      }
      finish(state, s, scores, first_row, tile * KV, ring + slot * STAGE + TileK::BYTES);
      if constexpr (AHEAD) Products<Attention>::template settle<KV / 2>(&ahead.d[0][0][0]);
      slot = later;
      next = next + 1 == STAGES ? 0 : next + 1;
    }
    wait_loads<0>();
#pragma unroll
    for (int i = 0; i < R * 2; ++i) state.sum[i / 2][i % 2] = warp_reduce<Sum<float>, 4>(state.sum[i / 2][i % 2]);
    __syncthreads();
    return state;
  }

  // Weights of 16 keys from fragment k on as left factors: rounded, and what that lost as a second part.
  __device__ __forceinline__ static void split(uint32_t (&p)[P_PARTS][R][4], Sums<R, S> const& s, int k) {
#pragma unroll
    for (int i = 0; i < R * 4; ++i) {
      float const* const x = s.d[i / 4][k + i % 4 / 2] + i % 2 * 2;
      float rest[2] = {x[0], x[1]};
#pragma unroll
      for (int part = 0; part < P_PARTS; ++part) {
        T pair[2];
        from_f32(pair[0], rest[0]), from_f32(pair[1], rest[1]);
        memcpy(&p[part][i / 4][i % 4], pair, 4);
        rest[0] -= to_f32(pair[0]), rest[1] -= to_f32(pair[1]);
      }
    }
  }
  __device__ __forceinline__ static int warp_row() { return thread_rank() / 32 * (R * 16); }
  /// f(row, top, sum): a row's greatest score, in powers of 2, and the sum of its weights 2^(score - top). Parts of a row join
  /// as sum * 2^(top - greatest top); one whose sum is 0 has seen nothing.
  template <class F>
  __device__ __forceinline__ static void each_row(State const& state, F const& f) {
#pragma unroll
    for (int i = 0; i < R * 2; ++i) {
      if (thread_rank() % 4 == 0) f(warp_row() + i * 8 + thread_rank() % 32 / 4, state.top[i / 2][i % 2], state.sum[i / 2][i % 2]);
    }
  }
  /// f(row, column, x, y): two neighbours of a row of the tile, divided by its weights.
  template <class F>
  __device__ __forceinline__ static void each_pair(State const& state, F const& f) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float by = 1.0f / state.sum[i][h];
        const int row = warp_row() + i * 16 + h * 8 + thread_rank() % 32 / 4;
#pragma unroll
        for (int j = 0; j < O; ++j) {
          float const(&d)[4] = state.o.d[i][j];
          f(row, j * 8 + thread_rank() % 4 * 2, d[h * 2] * by, d[h * 2 + 1] * by);
        }
      }
    }
  }

 private:
  // All but LATER groups of copies are there, for all threads.
  template <int LATER>
  __device__ __forceinline__ static void arrived() {
    wait_loads<LATER>();
    Products<Attention>::arrive();
    __syncthreads();
  }

  // From a tile's scores to its weights and sums.
  template <class Scores>
  __device__ __forceinline__ static void finish(State& state, Sums<R, S>& s, Scores const& scores, int first_row, int first_key,
                                                unsigned char const* values) {
    const bool all = scores.sees_all(first_row, ROWS, first_key, KV);  // the same in all threads
    weigh(state, s, scores, first_row, first_key, all);
    if ((!all || P_PARTS > 1) && holds_special(values)) return add_seen(state, s, scores, first_row, first_key, values);
    Products<Attention>::add(state.o, s, ptx_shared(values));
  }

  // Scores become weights e^(score - top), and 0 where a row does not see a key.
  template <class Scores>
  __device__ __forceinline__ static void weigh(State& state, Sums<R, S>& s, Scores const& scores, int first_row, int first_key, bool all) {
    float by[R][2];
    bool grows = false;  // whether some maximum does: late tiles seldom raise one
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = first_row + warp_row() + i * 16 + h * 8 + thread_rank() % 32 / 4;
        float most = -infinity();
#pragma unroll
        for (int e = 0; e < S * 2; ++e) {
          float& x = s.d[i][e / 2][h * 2 + e % 2];
          const int key = first_key + e / 2 * 8 + thread_rank() % 4 * 2 + e % 2;
          x = scores.score(x, row, key);
          if (!all && !scores.sees(row, key)) x = -infinity();
          most = max_nan(most, x);
        }
        float& top = state.top[i][h];
        const float to = max_nan(top, warp_reduce<Max<float>, 4>(most)), base = to == -infinity() ? 0.0f : to;
        by[i][h] = ptx_exp2(top - base);
        grows = grows || by[i][h] != 1.0f;
        float sum = 0.0f;
#pragma unroll
        for (int e = 0; e < S * 2; ++e) {
          float& x = s.d[i][e / 2][h * 2 + e % 2];
          x = ptx_exp2(x - base);
          sum += x;
        }
        top = to;
        state.sum[i][h] = state.sum[i][h] * by[i][h] + sum;
      }
    }
    if (!__any_sync(0xffffffffu, grows)) return;
#pragma unroll
    for (int e = 0; e < R * O * 4; ++e) state.o.d[e / (O * 4)][e / 4 % O][e % 4] *= by[e / (O * 4)][e / 2 % 2];
  }

  // Whether a tile of values has an infinity or a NaN: times a weight of 0 it is none.
  __device__ __forceinline__ static bool holds_special(unsigned char const* tile) {
    T ones;  // whose exponent has all bits
    from_f32(ones, infinity());
    uint16_t mask;
    memcpy(&mask, &ones, 2);
    bool any = false;
    for (int i = thread_rank(); i < KV * D / 8; i += THREADS) {
      uint32_t words[4];
      memcpy(words, __builtin_assume_aligned(tile + i * 16, 16), 16);
#pragma unroll
      for (int e = 0; e < 8; ++e) any = any || ((words[e / 2] >> e % 2 * 16) & mask) == mask;
    }
    return __syncthreads_or(any);
  }

  // The second product of such a tile, without what rows do not see.
  template <class Scores>
  __device__ __forceinline__ static void add_seen(State& state, Sums<R, S> const& s, Scores const& scores, int first_row, int first_key,
                                               unsigned char const* tile) {
    const int lane = thread_rank() % 32;
#pragma unroll 1
    for (int t = 0; t < KV; ++t) {
#pragma unroll
      for (int i = 0; i < R * 2; ++i) {
        float p = 0.0f;
#pragma unroll
        for (int e = 0; e < S * 2; ++e) p = t / 8 == e / 2 && t % 2 == e % 2 ? s.d[i / 2][e / 2][i % 2 * 2 + e % 2] : p;
        p = __shfl_sync(0xffffffffu, p, lane / 4 * 4 + t % 8 / 2);
        if (!scores.sees(first_row + warp_row() + i * 8 + lane / 4, first_key + t)) continue;
#pragma unroll
        for (int e = 0; e < O * 2; ++e) {
          const T v = *reinterpret_cast<T const*>(tile + TileV::at(e / 2 * 8, t) + (lane % 4 * 2 + e % 2) * 2);
          state.o.d[i / 2][e / 2][i % 2 * 2 + e % 2] += p * to_f32(v);
        }
      }
    }
  }
};

}  // namespace kit
