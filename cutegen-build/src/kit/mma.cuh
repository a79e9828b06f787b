// kit/mma.cuh: tiles in shared memory, and products of them on tensor cores.
//
// T is __nv_bfloat16, __half, or float, which is rounded to tf32 (11 bits). A tile holds ROWS by K elements, k being
// what products sum over; 16 bytes of it, VECTOR<T> elements, are a piece. Pieces are swizzled: reads meet no bank twice.
#include <kit/index.cuh>
#include <kit/ptx.cuh>
#include <kit/vector.cuh>
namespace kit {

// A tile of a factor. K_MAJOR: pieces lie along k; else along rows, T of 16 bits.
template <class T, int ROWS, int K, bool K_MAJOR = true>
struct Tile {
  static constexpr bool IS_K_MAJOR = K_MAJOR;
  static constexpr int EACH = VECTOR<T>, LINES = K_MAJOR ? ROWS : K, PIECES = (K_MAJOR ? K : ROWS) / EACH;
  static constexpr int WIDTH = PIECES % 8 == 0 ? 8 : PIECES % 4 == 0 ? 4 : PIECES % 2 == 0 ? 2 : 1;  // of a line, in a block
  static constexpr int BLOCKS = PIECES / WIDTH, BYTES = ROWS * K * int(sizeof(T));
  static_assert(PIECES % 2 == 0 && PIECES * EACH == (K_MAJOR ? K : ROWS) && (K_MAJOR || sizeof(T) == 2), "whole pieces");

  // Byte of a piece: (LINES, (WIDTH, BLOCKS)) : (WIDTH, (1, LINES * WIDTH)) pieces, swizzled.
  __device__ __forceinline__ static int byte_of(int line, int piece) {
    const int column = piece % WIDTH ^ line / (8 / WIDTH) % WIDTH;
    return 16 * (piece / WIDTH * (LINES * WIDTH) + line * WIDTH + column);
  }
  // Byte of the piece with (row, k).
  __device__ __forceinline__ static int at(int row, int k) {
    return K_MAJOR ? byte_of(row, k / EACH) : byte_of(k, row / EACH);
  }

  // Left factor of an instruction: 16 rows by 32 bytes of k, both multiples of it.
  __device__ __forceinline__ static void load_16(uint32_t (&to)[4], SharedAt tile, int row, int k) {
    if constexpr (K_MAJOR) ptx_matrices(to, address(tile, near(), row, k / EACH));
    else ptx_matrices_transposed(to, address(tile, far(), k, row / EACH));
    round(to);
  }
  // Right factors of two instructions: 8 rows each, of 16.
  __device__ __forceinline__ static void load_8x2(uint32_t (&a)[2], uint32_t (&b)[2], SharedAt tile, int row, int k) {
    uint32_t to[4];
    if constexpr (K_MAJOR) ptx_matrices(to, address(tile, far(), row, k / EACH));
    else ptx_matrices_transposed(to, address(tile, near(), k, row / EACH));
    round(to);
    a[0] = to[0], a[1] = to[1], b[0] = to[2], b[1] = to[3];
  }

 private:
  // Of 16 lines by two pieces, what a lane names for the four matrices: down the lines first, or across the pieces.
  __device__ __forceinline__ static int near() { return byte_of(thread_rank() % 16, thread_rank() / 16 % 2); }
  __device__ __forceinline__ static int far() { return byte_of(thread_rank() / 16 % 2 * 8 + thread_rank() % 8, thread_rank() / 8 % 2); }
  // The same from (line, piece) on, multiples of 8 and 2: what a lane adds is swizzled by constants.
  __device__ __forceinline__ static SharedAt address(SharedAt tile, int of_lane, int line, int piece) {
    return tile + (of_lane ^ 16 * (piece % WIDTH)) + 16 * WIDTH * (piece / WIDTH * LINES + line);
  }
  __device__ __forceinline__ static void round(uint32_t (&x)[4]) {
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = ptx_tf32(x[i]);
    }
  }
};

// Sums in registers: 16 R rows by 8 C columns of a warp.
template <int R, int C>
struct Sums {
  float d[R][C][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < R * C * 4; ++i) d[i / (C * 4)][i / 4 % C][i % 4] = 0.0f;
  }
};

// A block's sums, M by N, over WARPS_M by WARPS_N warps; GROUPED: as a warpgroup has them.
template <int M, int N, int WARPS_M, int WARPS_N, bool GROUPED>
struct BlockSums {
  static constexpr int THREADS = 32 * WARPS_M * WARPS_N, R = M / WARPS_M / 16, C = N / WARPS_N / 8;
  static_assert(R * 16 * WARPS_M == M && C * 8 * WARPS_N == N && C % 2 == 0, "whole instructions");
  using Accumulators = Sums<R, C>;

  // Where a warp's 16 rows of a fragment, and its columns, begin.
  __device__ __forceinline__ static int warp_row(int i, int warp = thread_rank() / 32) {
    return GROUPED ? warp / 4 * (R * 64) + i * 64 + warp % 4 * 16 : (warp % WARPS_M * R + i) * 16;
  }
  __device__ __forceinline__ static int warp_column() { return GROUPED ? 0 : thread_rank() / 32 / WARPS_M * (C * 8); }

  /// total += factor(row, column) * sums, which become 0: scales of a group of k.
  template <class F>
  __device__ __forceinline__ static void add_scaled(Accumulators& total, Accumulators& sums, F const& factor) {
    const int row = thread_rank() % 32 / 4, column = warp_column() + thread_rank() % 4 * 2;
#pragma unroll
    for (int e = 0; e < R * C * 4; ++e) {
      const int i = e % (R * 4) / 4, j = e / (R * 4), v = e % 4;  // columns outermost: factors of columns are read once
      float& sum = sums.d[i][j][v];
      total.d[i][j][v] += factor(warp_row(i) + row + v / 2 * 8, column + j * 8 + v % 2) * sum;
      sum = 0.0f;
    }
  }
  /// f(row, column, x, y) of the block's tile, from registers: two neighbours of a row.
  template <class F>
  __device__ __forceinline__ static void each_pair(Accumulators const& sums, F const& f) {
    const int row = thread_rank() % 32 / 4, column = warp_column() + thread_rank() % 4 * 2;
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int j = 0; j < C; ++j) {
        float const(&d)[4] = sums.d[i][j];
        f(warp_row(i) + row, column + j * 8, d[0], d[1]);
        f(warp_row(i) + row + 8, column + j * 8, d[2], d[3]);
      }
    }
  }
  /// f(row, column, Floats<V>): V neighbours of a row, through PASS_BYTES = 64 WARPS_M (N + 8) of shared memory that is free,
  /// and again after __syncthreads(). All threads call.
  template <int V, class F>
  __device__ __forceinline__ static void each_vector(Accumulators const& sums, unsigned char* memory, F const& f) {
    float* const lines = reinterpret_cast<float*>(memory);
    const int warp = thread_rank() / 32 % WARPS_M, lane = thread_rank() % 32;
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (i > 0) __syncthreads();
      float* const own = lines + (warp * 16 + lane / 4) * LINE + warp_column() + lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < C; ++j) {
        float const(&d)[4] = sums.d[i][j];
        *reinterpret_cast<float2*>(own + j * 8) = make_float2(d[0], d[1]);
        *reinterpret_cast<float2*>(own + j * 8 + 8 * LINE) = make_float2(d[2], d[3]);
      }
      __syncthreads();
      for (int v = thread_rank(); v < WARPS_M * 16 * (N / V); v += THREADS) {
        const int line = v / (N / V), column = v % (N / V) * V;
        f(warp_row(i, line / 16) + line % 16, column, load_vector<V>(lines + line * LINE + column));
      }
    }
  }
  static constexpr int LINE = N + 8;  // floats of a line in shared memory, without bank conflicts
  static constexpr int PASS_BYTES = WARPS_M * 16 * LINE * 4;
};

/// Of a block: M by N sums over K a step, on WARPS_M by WARPS_N warps with M / WARPS_M by N / WARPS_N of them, multiples of
/// 16. THREADS = 32 WARPS_M WARPS_N; Accumulators, with clear(); the functions above.
template <class T_, int M_, int N_, int K_, int WARPS_M, int WARPS_N>
struct TiledMma : BlockSums<M_, N_, WARPS_M, WARPS_N, false> {
  using T = T_;
  using Block = BlockSums<M_, N_, WARPS_M, WARPS_N, false>;
  static constexpr int M = M_, N = N_, K = K_, STEP = 32 / int(sizeof(T)), STEPS = K / STEP, R = Block::R, C = Block::C;
  static_assert(STEPS * STEP == K, "whole instructions");

  // What a warp holds of a step.
  struct Fragments {
    uint32_t a[R][4], b[C][2];
  };
  template <class TileA, class TileB>
  __device__ __forceinline__ static void load(Fragments& f, SharedAt a, SharedAt b, int step) {
#pragma unroll
    for (int i = 0; i < R; ++i) TileA::load_16(f.a[i], a, Block::warp_row(i), step * STEP);
#pragma unroll
    for (int j = 0; j < C; j += 2) TileB::load_8x2(f.b[j], f.b[j + 1], b, Block::warp_column() + j * 8, step * STEP);
  }
  __device__ __forceinline__ static void multiply(Sums<R, C>& sums, Fragments const& f) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int j = 0; j < C; ++j) ptx_mma(T(), sums.d[i][j], f.a[i], f.b[j]);
    }
  }
};

}  // namespace kit
