// finish.cuh: from a tile in shared memory, planes [PLANES][BT][LINE] of f32, to y; split-K over workspace in split order.
#pragma once
#include "device.cuh"

CUTE_DEVICE float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
CUTE_DEVICE float4 operator*(float4 a, float b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }
CUTE_DEVICE void put(float* to, float4 v) { *reinterpret_cast<float4*>(to) = v; }
CUTE_DEVICE void put(bf16* to, float4 v) { *reinterpret_cast<uint2*>(to) = make_uint2(pack2(v.x, v.y), pack2(v.z, v.w)); }
CUTE_DEVICE float4 narrowed(float4 v) {
#ifdef FAULT_F
  return make_float4(float(bf16(v.x)), float(bf16(v.y)), float(bf16(v.z)), float(bf16(v.w)));
#else
  return v;
#endif
}

// The k tiles of split `s`; none where there are more splits than tiles.
struct Range {
  int begin, end;
  CUTE_HOST_DEVICE static Range of(int k, int bk, int s, int splits) {
#ifdef FAULT_G
    const int each = k / bk / splits;
    return {each * s, each * (s + 1)};
#else
    const int tiles = ceil_div(k, bk);
    return {tiles * s / splits, tiles * (s + 1) / splits};
#endif
  }
};

template <int PLANES, int BW, int BT, int LINE, int THREADS>
struct Finish {
  static constexpr int QUADS = BW / 4, DEEP = QUADS * BT >= 4 * THREADS ? 4 : (QUADS * BT + THREADS - 1) / THREADS;  // quads a thread has in flight
  template <class Step>
  CUTE_DEVICE static void each(int tid, int rows, Step const& step) {  // step(quad of the tile, token, first column)
    _Pragma("unroll 2")
    for (int q = tid; q < rows * QUADS; q += THREADS) step(q, q / QUADS, q % QUADS * 4);
  }
  CUTE_DEVICE static float4 sum(float const* tile, int token, int col) {
    float4 v = *reinterpret_cast<float4 const*>(tile + token * LINE + col);
    CUTE_UNROLL
    for (int p = 1; p < PLANES; ++p) v = v + *reinterpret_cast<float4 const*>(tile + (p * BT + token) * LINE + col);
    return v;
  }
  // Partials lie in `work` by [tile][split][quad]; `count` of a tile is zero before and after. `empty`: this split had no k tile.
  template <class Y, class Sync>
  CUTE_DEVICE static void run(float const* tile, Y* y, float4* work, int* count, int m, int n, int m0, int n0, int split, int splits,
                              [[maybe_unused]] bool empty, int tid, Sync const& sync) {
    const int rows = m - m0 < BT ? m - m0 : BT;
    if (splits == 1) {
      each(tid, rows, [&](int, int t, int c) {
        if (n0 + c < n) put(y + int64_t(m0 + t) * n + n0 + c, sum(tile, t, c));
      });
      return;
    }
    work += int64_t(blockIdx.x + gridDim.x * blockIdx.y) * splits * (QUADS * BT);
    count += blockIdx.x + gridDim.x * blockIdx.y;
#ifdef FAULT_E
    if (!empty)
#endif
    each(tid, rows, [&](int q, int t, int c) { work[split * (QUADS * BT) + q] = narrowed(sum(tile, t, c)); });
    __threadfence();
    sync();
    __shared__ int last;
    if (tid == 0) last = atomicAdd(count, 1) == splits - 1;
    sync();
    if (!last) return;
    __threadfence();
    CUTE_NO_UNROLL
    for (int first = tid; first < rows * QUADS; first += DEEP * THREADS) {
      float4 v[DEEP];
      for (int s = 0; s < splits; ++s) {
        CUTE_UNROLL
        for (int i = 0; i < DEEP; ++i) {
          const int q = first + i * THREADS;
          const float4 part = q < rows * QUADS ? __ldcg(work + s * (QUADS * BT) + q) : float4{};
          v[i] = s == 0 ? part : v[i] + part;
        }
      }
      CUTE_UNROLL
      for (int i = 0; i < DEEP; ++i) {
        const int q = first + i * THREADS, t = q / QUADS, c = q % QUADS * 4;
        if (t < rows && n0 + c < n) put(y + int64_t(m0 + t) * n + n0 + c, v[i]);
      }
    }
#ifndef FAULT_D
    if (tid == 0) *count = 0;
#endif
  }
};
