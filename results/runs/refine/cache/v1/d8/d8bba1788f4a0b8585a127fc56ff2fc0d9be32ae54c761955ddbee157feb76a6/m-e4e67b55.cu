#include <cute/tensor_impl.hpp>
#include <cute/atom/copy_traits.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace kit {}
// contract:
// steps = [
//   { entry = "cutegen_96a2a9ee814eda41_tiles", grid = [128], block = [1024], args = ["ptr(x)", "ptr(w)", "workspace(w0)", "axis(b)"] },
//   { entry = "cutegen_96a2a9ee814eda41", grid = ["ceil_div(b, 8)"], block = [256], args = ["workspace(w0)", "ptr(y)", "axis(b)"] },
// ]
// workspace = [
//   { bytes = "128 * 1024 * 8", initial = "undefined" },
// ]
// eligibility = "x aligned 16 and w aligned 16"
// tiles = { b = [8] }


// y[b] = sum(n, sum(k, x[b, k] * w[n, k]) / 2) * 1.5 = 0.75 * sum(k, x[b, k] * s[k]), s[k] = sum(n, w[n, k]).
// Bound by memory: w and x are each read once.
//   tiles: a block has TILE columns of k. It sums them over all of w: s[k], and sign[k] = +1 or -1 where all of column k is
//          above or below zero, else 0. Then it sums x[b, k] * s[k] over its columns for every row of x.
//          An infinite x[b, k] takes sign[k] for s[k]: inf * 0 = NaN is what the math gives where column k has both signs,
//          a zero or a NaN.
//   last:  sums over the tiles.

namespace {

constexpr int N = 8192;
constexpr int K = 8192;
constexpr int MAX_B = 1024;                      // rows of the workspace's parts
constexpr int VECTOR = 4;                        // floats in 16 bytes
constexpr int K_VECTORS = K / VECTOR;

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
constexpr int TILE = 64;                         // columns of a block, by 16 lanes; a warp reads two rows at once
constexpr int TILES = K / TILE;                  // grid of tiles

constexpr int AHEAD = 8;                         // rows of w whose loads a thread has in flight together
constexpr int W_ROWS = WARPS * 2 * AHEAD;        // rows of w a block reads in a turn

constexpr int GROUP = 4;                         // rows of x a thread reads in a step; two steps are in flight
constexpr int X_ROWS = WARPS * 2 * GROUP;        // rows of x a block reads in a step

constexpr int JOIN_THREADS = 256;
constexpr int JOIN_WARPS = JOIN_THREADS / 32;
constexpr int JOIN_ROWS = 8;                     // rows a block of the last kernel joins
constexpr int JOIN_GROUPS = JOIN_THREADS / JOIN_ROWS;
constexpr float SCALE = 0.75f;                   // 1.5 / 2

constexpr unsigned NOT_POSITIVE = 1;             // the column has an element <= 0
constexpr unsigned NOT_NEGATIVE = 2;             // the column has an element >= 0
constexpr unsigned ALL = 0xffffffffu;

static_assert(TILE == 16 * VECTOR && TILE == 2 * WARPS, "16 lanes a row; a warp joins two columns");
static_assert(N % W_ROWS == 0, "no tails along n");
static_assert(TILES == 128 && TILES % JOIN_GROUPS == 0 && JOIN_ROWS == 8, "as in the contract");
static_assert(GROUP == 4, "reduce_rows");

// Sum and extent of the elements of a column. A NaN is in the sum alone.
struct Column {
  double sum;
  float low, high;
};

__device__ __forceinline__ void push(Column& column, float v) {
  column.sum += double(v);
  column.low = fminf(column.low, v);
  column.high = fmaxf(column.high, v);
}

__device__ __forceinline__ unsigned signs_met(const Column& column) {
  return (column.low > 0.0f ? 0u : NOT_POSITIVE) | (column.high < 0.0f ? 0u : NOT_NEGATIVE);
}

__device__ __forceinline__ bool is_infinite(float v) { return (__float_as_uint(v) & 0x7fffffffu) == 0x7f800000u; }

// x[b, k] * sum(n, w[n, k]), with the math's NaN where x is infinite.
__device__ __forceinline__ double term(float x, double sum, const float* sign) {
  double factor = sum;
  if (is_infinite(x)) factor = double(*sign);
  return double(x) * factor;
}

// Rows row, row + 2, .. of x; zeros from row b on. `from` is row 0 at this thread's columns.
__device__ __forceinline__ void load_rows(float4 (&v)[GROUP], const float4* from, int row, int b) {
#pragma unroll
  for (int i = 0; i < GROUP; ++i) {
    v[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row + 2 * i < b) v[i] = from[row * K_VECTORS + 2 * i * K_VECTORS];
  }
}

// Sums over 16 lanes of GROUP values. A lane gets the one with the number (lane / 4) % 4.
__device__ __forceinline__ double reduce_rows(const double (&value)[GROUP], int lane) {
  const bool upper = (lane & 8) != 0;
  const bool odd = (lane & 4) != 0;
  const double give0 = upper ? value[0] : value[2];
  const double give1 = upper ? value[1] : value[3];
  const double a0 = (upper ? value[2] : value[0]) + __shfl_xor_sync(ALL, give0, 8);
  const double a1 = (upper ? value[3] : value[1]) + __shfl_xor_sync(ALL, give1, 8);
  const double give = odd ? a0 : a1;
  double sum = (odd ? a1 : a0) + __shfl_xor_sync(ALL, give, 4);
  sum += __shfl_xor_sync(ALL, sum, 2);
  sum += __shfl_xor_sync(ALL, sum, 1);
  return sum;
}

}  // namespace

// parts[tile, b] = sum of x[b, k] * s[k] over the tile's columns.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    cutegen_96a2a9ee814eda41_tiles(const float* x, const float* w, double* parts, int64_t b) {
  __shared__ __align__(16) double warp_sums[WARPS][TILE + 2];  // the padding spreads rows over banks
  __shared__ unsigned warp_met[WARPS][TILE / 4 + 1];           // a byte a column
  __shared__ __align__(16) double total[TILE];
  __shared__ __align__(16) float sign[TILE];

  const int lane = int(threadIdx.x) % 32;
  const int warp = int(threadIdx.x) / 32;
  const int half = lane / 16;
  const int local = lane % 16 * VECTOR;  // first column in the tile
  const int column = int(blockIdx.x) * TILE + local;

  // Columns of w.
  {
    const float4* from = reinterpret_cast<const float4*>(w + int64_t(warp * 2 * AHEAD + half) * K + column);
    Column own[VECTOR];
#pragma unroll
    for (int i = 0; i < VECTOR; ++i) {
      own[i].sum = 0.0;
      own[i].low = __int_as_float(0x7f800000);
      own[i].high = -__int_as_float(0x7f800000);
    }

#pragma unroll 1
    for (int turn = 0; turn < N / W_ROWS; ++turn) {
      float4 v[AHEAD];
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) v[i] = __ldcs(from + i * 2 * K_VECTORS);
      from += W_ROWS * K_VECTORS;
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) {
        push(own[0], v[i].x);
        push(own[1], v[i].y);
        push(own[2], v[i].z);
        push(own[3], v[i].w);
      }
    }

    unsigned met = signs_met(own[0]) | signs_met(own[1]) << 8 | signs_met(own[2]) << 16 | signs_met(own[3]) << 24;
    met |= __shfl_xor_sync(ALL, met, 16);
#pragma unroll
    for (int i = 0; i < VECTOR; ++i) own[i].sum += __shfl_xor_sync(ALL, own[i].sum, 16);
    if (half == 0) {
      double2* to = reinterpret_cast<double2*>(&warp_sums[warp][local]);
      to[0] = make_double2(own[0].sum, own[1].sum);
      to[1] = make_double2(own[2].sum, own[3].sum);
      warp_met[warp][lane] = met;
    }
  }

  // The first rows of x are under way while the columns are joined.
  const float4* from = reinterpret_cast<const float4*>(x + column);
  const int rows = int(b);
  const int first = warp * 2 * GROUP + half;
  float4 v[2][GROUP];
  load_rows(v[0], from, first, rows);
  load_rows(v[1], from, first + X_ROWS, rows);
  __syncthreads();

  // A warp joins two columns, a lane has the part of one warp.
  {
    double2 sum = *reinterpret_cast<const double2*>(&warp_sums[lane][2 * warp]);
    const unsigned both = __reduce_or_sync(ALL, warp_met[lane][warp / 2] >> (warp % 2 * 16) & 0xffffu);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      sum.x += __shfl_xor_sync(ALL, sum.x, step);
      sum.y += __shfl_xor_sync(ALL, sum.y, step);
    }
    if (lane < 2) {
      const double mine = lane == 0 ? sum.x : sum.y;
      const unsigned met = both >> (lane * 8) & 0xffu;
      float common = 0.0f;
      if (met == NOT_NEGATIVE) common = 1.0f;
      if (met == NOT_POSITIVE) common = -1.0f;
      if (mine != mine) common = 0.0f;  // a NaN in the column
      total[2 * warp + lane] = mine;
      sign[2 * warp + lane] = common;
    }
  }
  __syncthreads();

  // Products with x.
  const double2 s01 = *reinterpret_cast<const double2*>(&total[local]);
  const double2 s23 = *reinterpret_cast<const double2*>(&total[local + 2]);
  const float* g = &sign[local];
  const int writes = warp * 2 * GROUP + lane / 4 % 4 * 2 + half;  // the row that reduce_rows leaves here
  double* to = parts + int(blockIdx.x) * MAX_B;

#pragma unroll 1
  for (int base = 0; base < rows; base += 2 * X_ROWS) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      double value[GROUP];
#pragma unroll
      for (int i = 0; i < GROUP; ++i) {
        value[i] = (term(v[h][i].x, s01.x, g) + term(v[h][i].y, s01.y, g + 1)) +
                   (term(v[h][i].z, s23.x, g + 2) + term(v[h][i].w, s23.y, g + 3));
      }
      load_rows(v[h], from, base + (2 + h) * X_ROWS + first, rows);
      const double sum = reduce_rows(value, lane);
      const int row = base + h * X_ROWS + writes;
      if (lane % 4 == 0 && row < rows) to[row] = sum;
    }
  }
}

// y of JOIN_ROWS rows: sums over the tiles.
extern "C" __global__ void __launch_bounds__(JOIN_THREADS) cutegen_96a2a9ee814eda41(const double* parts, float* y, int64_t b) {
  __shared__ double warp_sums[JOIN_WARPS][JOIN_ROWS];
  const int lane = int(threadIdx.x) % 32;
  const int warp = int(threadIdx.x) / 32;
  const int group = int(threadIdx.x) / JOIN_ROWS;
  const int row = int(blockIdx.x) * JOIN_ROWS + int(threadIdx.x) % JOIN_ROWS;
  const bool there = row < int(b);

  double v[TILES / JOIN_GROUPS];
#pragma unroll
  for (int i = 0; i < TILES / JOIN_GROUPS; ++i) {
    v[i] = 0.0;
    if (there) v[i] = parts[(i * JOIN_GROUPS + group) * MAX_B + row];
  }
  double sum = v[0];
#pragma unroll
  for (int i = 1; i < TILES / JOIN_GROUPS; ++i) sum += v[i];
  sum += __shfl_xor_sync(ALL, sum, 8);
  sum += __shfl_xor_sync(ALL, sum, 16);
  if (lane < JOIN_ROWS) warp_sums[warp][lane] = sum;
  __syncthreads();

  if (int(threadIdx.x) < JOIN_ROWS && there) {
    double all = 0.0;
#pragma unroll
    for (int i = 0; i < JOIN_WARPS; ++i) all += warp_sums[i][threadIdx.x];
    y[row] = float(all * double(SCALE));
  }
}
