// mma_sync.cuh: a tile of y[m,n] = x[m,k] * w[n,k] by mma.sync with the weights on its 16 side and tokens on its 8 side: cp.async
// ring, ldmatrix, k of a stage shared out over WK warps; the tile ends in shared memory, token-major, a plane for each of the WK.
#pragma once
#include "device.cuh"

template <int BW_, int BT_, int BK_, int STAGES_, int WW_, int WT_, int WK_>
struct Mma {
  static constexpr int BW = BW_, BT = BT_, BK = BK_, STAGES = STAGES_, WW = WW_, WT = WT_, WK = WK_;
  static constexpr int THREADS = 32 * WW * WT * WK, BLOCKS = BK / 64;
  static constexpr int MI = BW / WW / 16, NI = BT / WT / 8, KI = BK / 16 / WK;  // atoms a warp along weights, tokens, k
  static constexpr int LINE = BW + 4;                                           // f32 of a token in the finished tile
  static constexpr int RING = STAGES * (BW + BT) * BK * 2, TILE = WK * BT * LINE * 4, SMEM = RING > TILE ? RING : TILE;
  static_assert(MI * WW * 16 == BW && NI * WT * 8 == BT && KI * WK * 16 == BK && BLOCKS * 64 == BK, "tile");
  static_assert(SMEM <= 227 * 1024, "shared memory");
};

CUTE_DEVICE uint64_t streamed() {
  uint64_t p = 0;
  DEVICE_ASM("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));
  return p;
}
CUTE_DEVICE void copy16(uint32_t to, bf16 const* from, bool there, uint64_t policy) {
  DEVICE_ASM("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(there ? 16 : 0), "l"(policy) : "memory");
}
CUTE_DEVICE void copy16(uint32_t to, bf16 const* from, bool there) {
  DEVICE_ASM("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}

// Byte of the 16-byte piece `c` of row `r`, in blocks of 64 columns by ROWS rows, 128-byte swizzle.
template <int ROWS>
CUTE_DEVICE uint32_t piece(int r, int c) { return c / 8 * (ROWS * 128) + r * 128 + ((c ^ r) % 8) * 16; }

// Copies ROWS by BK of from[rows, k] at (row, col); what lies outside becomes zeros.
template <class C, int ROWS, class Copy>
CUTE_DEVICE void load_rows(uint32_t to, bf16 const* from, int row, int rows, int col, int k, Copy const& copy) {
  const int c = threadIdx.x % 8, r0 = threadIdx.x / 8;
  CUTE_UNROLL
  for (int b = 0; b < C::BLOCKS; ++b) {
    CUTE_UNROLL
    for (int i = 0; i < ceil_div(ROWS * 8, C::THREADS); ++i) {
      const int r = r0 + i * (C::THREADS / 8), at = col + b * 64 + c * 8;
      if (ROWS * 8 % C::THREADS != 0 && r >= ROWS) break;
      const bool there = row + r < rows && at < k;
      copy(to + piece<ROWS>(r, b * 8 + c), there ? from + int64_t(row + r) * k + at : from, there);
    }
  }
}

// The k tiles [begin, end) of the tile at (n0, m0), summed into `out`, planes [WK][BT][LINE]; all threads have passed a barrier since.
// AHEAD: the ring's weights are asked for before the wait for the kernel before; its first stage is then there with its last.
template <class C, bool AHEAD>
CUTE_DEVICE void mma_tile(unsigned char* smem, bf16 const* x, bf16 const* w, int m, int n, int k, int m0, int n0, int begin, int end) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int ww = warp % C::WW * (C::MI * 16), wt = warp / C::WW % C::WT * (C::NI * 8), wk = warp / (C::WW * C::WT);
  constexpr int BYTES_W = C::BW * C::BK * 2, BYTES = (C::BW + C::BT) * C::BK * 2;
  const uint32_t base = cast_smem_ptr_to_uint(smem);
  const uint64_t policy = streamed();
  const auto once = [&](uint32_t to, bf16 const* from, bool there) { copy16(to, from, there, policy); };
  const auto again = [](uint32_t to, bf16 const* from, bool there) { copy16(to, from, there); };
  const auto load_w = [&](int kt, int slot) { load_rows<C, C::BW>(base + slot * BYTES, w, n0, n, kt * C::BK, k, once); };
  const auto load_x = [&](int kt, int slot) { load_rows<C, C::BT>(base + slot * BYTES + BYTES_W, x, m0, m, kt * C::BK, k, again); };

  Tensor accum = make_tensor<float>(Shape<_4, Int<C::MI>, Int<C::NI>>{});  // (MMA,weights,tokens)
  clear(accum);
#ifdef FAULT_H
  for (int s = 0; s < C::STAGES - 1; ++s) {
    if (begin + s < end) load_x(begin + s, s);
  }
#endif
  CUTE_UNROLL
  for (int s = 0; s < C::STAGES - 1; ++s) {
    if (AHEAD && begin + s < end) load_w(begin + s, s);
  }
  grid_wait();
  CUTE_UNROLL
  for (int s = 0; s < C::STAGES - 1; ++s) {
    if (!AHEAD && begin + s < end) load_w(begin + s, s);
#ifndef FAULT_H
    if (begin + s < end) load_x(begin + s, s);
#endif
    cp_async_fence();
  }
  int slot = 0, next = C::STAGES - 1;
  CUTE_NO_UNROLL
  for (int kt = begin; kt < end; ++kt) {
    cp_async_wait<C::STAGES - 2>();
    __syncthreads();
    if (kt + C::STAGES - 1 < end) {
      load_w(kt + C::STAGES - 1, next);
      load_x(kt + C::STAGES - 1, next);
    }
    cp_async_fence();
    const uint32_t sW = base + slot * BYTES, sX = sW + BYTES_W;
    CUTE_UNROLL
    for (int kk = 0; kk < C::KI; ++kk) {
      const int c = (wk * C::KI + kk) * 2;  // first of two pieces
      uint32_t a[C::MI][4], b[C::NI][2];
      CUTE_UNROLL
      for (int i = 0; i < C::MI; ++i) {
        DEVICE_ASM("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                   : "r"(sW + piece<C::BW>(ww + i * 16 + lane % 16, c + lane / 16))
                   : "memory");
      }
      CUTE_UNROLL
      for (int j = 0; j + 1 < C::NI; j += 2) {
        DEVICE_ASM("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(b[j][0]), "=r"(b[j][1]), "=r"(b[j + 1][0]), "=r"(b[j + 1][1])
                   : "r"(sX + piece<C::BT>(wt + j * 8 + lane / 16 * 8 + lane % 8, c + lane / 8 % 2))
                   : "memory");
      }
      if constexpr (C::NI % 2 == 1) {
        constexpr int j = C::NI - 1;
        DEVICE_ASM("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(b[j][0]), "=r"(b[j][1])
                   : "r"(sX + piece<C::BT>(wt + j * 8 + lane % 8, c + lane / 8 % 2))
                   : "memory");
      }
      CUTE_UNROLL
      for (int i = 0; i < C::MI; ++i) {
        CUTE_UNROLL
        for (int j = 0; j < C::NI; ++j) {
          SM80_16x8x16_F32BF16BF16F32_TN::fma(accum(0, i, j), accum(1, i, j), accum(2, i, j), accum(3, i, j), a[i][0], a[i][1], a[i][2], a[i][3],
                                              b[j][0], b[j][1], accum(0, i, j), accum(1, i, j), accum(2, i, j), accum(3, i, j));
        }
      }
    }
    slot = slot + 1 == C::STAGES ? 0 : slot + 1;
    next = next + 1 == C::STAGES ? 0 : next + 1;
  }
  cp_async_wait<0>();
  __syncthreads();
  Tensor sC = make_tensor(make_smem_ptr(reinterpret_cast<float*>(smem)), Layout<Shape<Int<C::BW>, Int<C::BT>, Int<C::WK>>,
                                                              Stride<_1, Int<C::LINE>, Int<C::BT * C::LINE>>>{});  // (BW,BT,WK)
  CUTE_UNROLL
  for (int i = 0; i < C::MI; ++i) {
    CUTE_UNROLL
    for (int j = 0; j < C::NI; ++j) {
      CUTE_UNROLL
      for (int v = 0; v < 4; ++v) sC(ww + i * 16 + lane / 4 + v / 2 * 8, wt + j * 8 + lane % 4 * 2 + v % 2, wk) = accum(v, i, j);
    }
  }
  __syncthreads();
}
