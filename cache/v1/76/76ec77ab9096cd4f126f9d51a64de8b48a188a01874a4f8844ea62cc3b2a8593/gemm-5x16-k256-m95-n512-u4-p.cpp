// gemm-5x16-k256-m95-n512-u4-p: t2[v0:a0, v1:a1] = sum(v2:a2, mul(t0[v0:a0, v2:a2], t1[v1:a1, v2:a2]))
//
// Idea: blocked product on packed operands. B goes strip by strip into panels of NR columns, A block by block into padded
// rows of float; an MR x NR register tile then takes KU steps of k per cute::gemm over an FMA atom. Sums stay in float from
// the first k to the last (register tile, then a float block of C); the epilogue runs once, over rows of that block.
// Bound: the FMA units when packed (MR * NR / LANES >= 8 independent sums); the reading of B when PACK_B is false.
// Prelude of every host candidate: CuTe set up for a CPU, storage types, conversions, math on float.
// Nothing here branches, so every loop over these functions vectorises. Errors in the comments are the largest seen over
// all floats against long double; the README holds the list.
#include <cute/config.hpp>
// CuTe leaves both to the compiler outside CUDA; register tiles only stay in registers when inlined and unrolled.
#undef CUTE_HOST_DEVICE
#define CUTE_HOST_DEVICE inline __attribute__((always_inline))
#undef CUTE_UNROLL
#define CUTE_UNROLL _Pragma("GCC unroll 32")
#define CG_SIMD _Pragma("GCC ivdep")
#include <cute/tensor.hpp>

#include <cstdint>

#define CG_INLINE static inline __attribute__((always_inline))

namespace {

// ---------------------------------------------------------------- vectors

template <class T, int N>
struct VectorOf { typedef T type __attribute__((vector_size(N * sizeof(T)))); };

constexpr int LANES = 8;  // floats per register of the declared CPU level
typedef VectorOf<float, LANES>::type vf;

// N elements as they lie in memory, at the alignment of one element.
template <class T, int N = LANES>
struct Pack { T x[N]; };

CG_INLINE vf splat(float a) { return a - vf{}; }  // a - 0 is a for every a, -0 and NaN included

// ---------------------------------------------------------------- storage types

struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };

CG_INLINE float bits_f32(uint32_t u) { return __builtin_bit_cast(float, u); }
CG_INLINE uint32_t f32_bits(float v) { return __builtin_bit_cast(uint32_t, v); }

CG_INLINE float to_f32(float v) { return v; }
CG_INLINE float to_f32(int8_t v) { return float(v); }
CG_INLINE float to_f32(uint8_t v) { return float(v); }
CG_INLINE float to_f32(int32_t v) { return float(v); }
CG_INLINE float to_f32(bf16 v) { return bits_f32(uint32_t(v.bits) << 16); }

CG_INLINE float to_f32(f16 v) {
  const uint32_t magnitude = uint32_t(v.bits & 0x7fff) << 13;
  const float scaled = bits_f32(magnitude) * 0x1p112f;  // exact: subnormal halves become normal floats
  const uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  return bits_f32(f32_bits(scaled) | special | uint32_t(v.bits & 0x8000) << 16);
}

template <class T>
T from_f32(float v);

template <>
inline __attribute__((always_inline)) float from_f32<float>(float v) { return v; }

// Nearest, ties to even; a NaN stays a (quiet) NaN.
template <>
inline __attribute__((always_inline)) bf16 from_f32<bf16>(float v) {
  const uint32_t u = f32_bits(v);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const uint32_t nan = (u >> 16) | 0x40u;
  return bf16{uint16_t((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

template <>
inline __attribute__((always_inline)) f16 from_f32<f16>(float v) {
  const uint32_t u = f32_bits(v), magnitude = u & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t small = f32_bits(bits_f32(magnitude) + 0.5f) - 0x3f000000u;  // the addition rounds to multiples of 2^-24
  const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t finite = magnitude < 0x38800000u ? small : normal;
  return f16{uint16_t((magnitude >= 0x47800000u ? large : finite) | (u >> 16 & 0x8000u))};
}

// Whole registers: element by element, a compiler may go through memory in pieces and stall on reading it back.
template <int N>
CG_INLINE typename VectorOf<float, N>::type load(Pack<float, N> const& p) {
  typename VectorOf<float, N>::type v;
  __builtin_memcpy(&v, &p, sizeof v);
  return v;
}

template <int N>
CG_INLINE typename VectorOf<float, N>::type load(Pack<bf16, N> const& p) {
  typename VectorOf<uint16_t, N>::type bits;
  __builtin_memcpy(&bits, &p, sizeof bits);
  return (typename VectorOf<float, N>::type)(__builtin_convertvector(bits, typename VectorOf<uint32_t, N>::type) << 16);
}

template <class T, int N>
CG_INLINE typename VectorOf<float, N>::type load(Pack<T, N> const& p) {
  typename VectorOf<float, N>::type v;
  CUTE_UNROLL
  for (int l = 0; l < N; ++l) v[l] = to_f32(p.x[l]);
  return v;
}

// ---------------------------------------------------------------- math

CG_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CG_INLINE float mul(float a, float b) { return __builtin_fmaf(a, b, 0.0f); }  // a rounded product, never contracted
CG_INLINE float cg_abs(float x) { return __builtin_fabsf(x); }
CG_INLINE float cg_sqrt(float x) { return __builtin_sqrtf(x); }
CG_INLINE float cg_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
CG_INLINE float cg_max(float a, float b) { return ((a > b) | (a != a)) ? a : b; }  // NaN wins
CG_INLINE float cg_min(float a, float b) { return ((a < b) | (a != a)) ? a : b; }
CG_INLINE float cg_relu(float x) { return x < 0.0f ? 0.0f : x; }
CG_INLINE float cg_sign_of(float magnitude, float sign) { return __builtin_copysignf(magnitude, sign); }

// e^(x + low) = m * s1 * s2 with s1, s2 powers of two: two steps, so that one final product rounds into the subnormals.
struct ExpParts { float m, p, s1, s2; };

CG_INLINE ExpParts exp_parts(float x, float low) {
  const float shifter = 0x1.8p23f;
  const float t = fma(x, 0x1.715476p0f, shifter);  // low bits of t: round(x / ln 2)
  const float n = t - shifter;
  const float r = fma(n, -0x1.7f7d1cp-20f, fma(n, -0x1.62e4p-1f, x)) + low;
  // e^r - 1 over |r| <= 0.3475, as r + r^2 q(r)
  float q = 0x1.a2552ep-13f;
  q = fma(q, r, 0x1.6d3f6ep-10f);
  q = fma(q, r, 0x1.110ffcp-7f);
  q = fma(q, r, 0x1.5554f4p-5f);
  q = fma(q, r, 0x1.555556p-3f);
  q = fma(q, r, 0.5f);
  const float p = fma(mul(r, r), q, r);
  const int32_t k = int32_t(f32_bits(t)) - int32_t(0x4b400000);
  const int32_t k1 = k >> 1;
  return {1.0f + p, p, bits_f32(uint32_t(k1 + 127) << 23), bits_f32(uint32_t(k - k1 + 127) << 23)};
}

CG_INLINE float cg_exp(float x) {
  const float top = x > 89.0f ? 89.0f : x;
  const float in = top < -112.0f ? -112.0f : top;
  const ExpParts e = exp_parts(in, 0.0f);
  return e.m * e.s1 * e.s2;
}

CG_INLINE float cg_expm1(float x) {
  const float top = x > 89.0f ? 89.0f : x;
  const float in = top < -20.0f ? -20.0f : top;
  const ExpParts e = exp_parts(in, 0.0f);
  const float half_scale = e.s1 * 0.5f * e.s2;  // 2^128 is no float
  const float r = fma(half_scale, e.p, half_scale - 0.5f) * 2.0f;
  return x == 0.0f ? x : r;
}

CG_INLINE float cg_tanh(float x) {
  const float a = cg_abs(x);
  const float y = a > 10.0f ? 10.0f : a;
  const ExpParts e = exp_parts(2.0f * y, 0.0f);
  const float scale = e.s1 * e.s2;
  const float em1 = fma(scale, e.p, scale - 1.0f);
  return cg_sign_of(em1 / (em1 + 2.0f), x);
}

CG_INLINE float cg_sigmoid(float x) {
  const float a = cg_abs(x);
  const ExpParts e = exp_parts(a > 112.0f ? -112.0f : -a, 0.0f);
  const float scaled = e.m * e.s1;
  const float d = fma(scaled, e.s2, 1.0f);
  return (x < 0.0f ? scaled : 1.0f) / d * (x < 0.0f ? e.s2 : 1.0f);
}

// x * sigmoid(w + low) with w of x's sign: the last step scales, so results near and below the smallest normal stay right.
CG_INLINE float times_sigmoid(float x, float w, float low) {
  const float a = cg_abs(w);
  const bool far = a > 112.0f;
  const ExpParts e = exp_parts(far ? -112.0f : -a, far ? 0.0f : cg_sign_of(1.0f, w) * -low);
  const float scaled = e.m * e.s1;
  const float d = fma(scaled, e.s2, 1.0f);
  const float in = x < -112.0f ? -112.0f : x;
  const float r = (x < 0.0f ? in * scaled : x) / d * (x < 0.0f ? e.s2 : 1.0f);
  return x == -__builtin_inff() ? __builtin_nanf("") : r;  // -inf * 0, as the formula says
}

CG_INLINE float cg_silu(float x) { return times_sigmoid(x, x, 0.0f); }

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(x (c0 + c1 x^2)). The argument reaches -100 where results are
// still non-zero, so it is carried in two floats; one float there would cost 90 ulps.
CG_INLINE float cg_gelu_tanh(float x) {
  const float c0 = 0x1.988454p0f, c0_low = -0x1.857936p-25f;
  const float c1 = 0x1.2444f2p-4f, c1_low = 0x1.49b16ap-29f;
  const float top = x > 12.0f ? 12.0f : x;
  const float y = top < -12.0f ? -12.0f : top;
  const float square = mul(y, y), square_low = fma(y, y, -square);
  const float cubic = mul(c1, square);
  const float sum = cubic + c0, part = sum - cubic;
  float low = (cubic - (sum - part)) + (c0 - part);
  low += fma(c1, square, -cubic) + fma(c1, square_low, fma(c1_low, square, c0_low));
  const float w = mul(y, sum);
  return times_sigmoid(x, w, fma(y, low, fma(y, sum, -w)));
}

// The rest of the math, on libm: right, and scalar.
CG_INLINE float cg_exp2(float x) { return __builtin_exp2f(x); }
CG_INLINE float cg_log(float x) { return __builtin_logf(x); }
CG_INLINE float cg_log2(float x) { return __builtin_log2f(x); }
CG_INLINE float cg_log1p(float x) { return __builtin_log1pf(x); }
CG_INLINE float cg_sin(float x) { return __builtin_sinf(x); }
CG_INLINE float cg_cos(float x) { return __builtin_cosf(x); }
CG_INLINE float cg_pow(float x, float y) { return __builtin_powf(x, y); }
CG_INLINE float cg_erf(float x) { return __builtin_erff(x); }
CG_INLINE float cg_gelu(float x) { return float(0.5 * x * __builtin_erfc(-0x1.6a09e667f3bcdp-1 * x)); }  // one rounding
CG_INLINE float cg_softplus(float x) { return cg_max(x, 0.0f) + __builtin_log1pf(cg_exp(-cg_abs(x))); }
CG_INLINE float cg_floor(float x) { return __builtin_floorf(x); }
CG_INLINE float cg_ceil(float x) { return __builtin_ceilf(x); }
CG_INLINE float cg_round(float x) { return __builtin_rintf(x); }  // ties to even
CG_INLINE float cg_clamp(float x, float low, float high) { return cg_min(cg_max(x, low), high); }

// ---------------------------------------------------------------- arguments

// params[i] points at the i-th argument's value, as in cuLaunchKernel.
template <class T>
CG_INLINE T value(void const* param) { return *static_cast<T const*>(param); }

// A tensor argument: row-major unless strides are given.
template <class T, class Shape>
CG_INLINE auto view(void const* param, Shape const& shape) {
  return cute::make_tensor(value<T*>(param), cute::make_layout(shape, cute::LayoutRight{}));
}
template <class T, class Shape, class Stride>
CG_INLINE auto view(void const* param, Shape const& shape, Stride const& stride) {
  return cute::make_tensor(value<T*>(param), cute::make_layout(shape, stride));
}

}  // namespace

#include <cute/algorithm/gemm.hpp>
#include <cute/atom/mma_atom.hpp>

namespace {

// ---------------------------------------------------------------- configuration

using TA = bf16;
using TB = bf16;
constexpr bool B_NT = true;
constexpr bool GATED = false;
constexpr int MR = 5;
constexpr int NR = 16;
constexpr int KC = 256;
constexpr int MC = 95;
constexpr int NC = 512;
constexpr int KU = 4;
constexpr bool PACK_B = true;

constexpr int NV = NR / LANES;             // vectors in a row of the register tile
constexpr bool DOT = !PACK_B && B_NT;      // lanes run along k instead of n
constexpr int TILE_N = DOT ? NV : NR;      // columns a register tile covers
constexpr int SUMS = GATED ? 2 : 1;
constexpr int A_PAD = 16;                  // keeps rows of A off one cache set, and leaves room for zeros past the last k

static_assert(LANES == 8 || LANES == 16, "a register holds 8 (AVX2) or 16 (AVX-512) floats");
static_assert(NR % LANES == 0, "NR is a whole number of vectors");
static_assert(MR >= 1 && MR * NV <= (LANES == 16 ? 28 : 15), "MR * NR / LANES sums must leave registers for the operands");
static_assert(MC % MR == 0, "MC is a whole number of register tiles");
static_assert(NC % TILE_N == 0 && NC % 16 == 0, "NC is a whole number of register tiles and of cache lines");
static_assert(KC % 16 == 0 && KU >= 1, "KC is a whole number of cache lines");

// ---------------------------------------------------------------- atoms

// LANES columns at one k: column sums += B[k, n..n+LANES) * A[m, k]. CuTe's "m" is our vector of n and its "n" our row:
// its loops then keep one broadcast alive at a time.
template <class T>
struct FmaColumns {
  using DRegisters = vf[1];
  using ARegisters = Pack<T>[1];
  using BRegisters = float[1];
  using CRegisters = vf[1];
  CUTE_HOST_DEVICE static void fma(vf& d, Pack<T> const& a, float const& b, vf const& c) { d = load(a) * splat(b) + c; }
};

// LANES steps of k of one column: partial sums += B[n, k..k+LANES) * A[m, k..k+LANES).
struct FmaDot {
  using DRegisters = vf[1];
  using ARegisters = vf[1];
  using BRegisters = Pack<float>[1];
  using CRegisters = vf[1];
  CUTE_HOST_DEVICE static void fma(vf& d, vf const& a, Pack<float> const& b, vf const& c) { d = a * load(b) + c; }
};

template <class Op>
struct VectorTraits {
  using ValTypeD = vf;
  using ValTypeA = typename cute::remove_extent<typename Op::ARegisters>::type;
  using ValTypeB = typename cute::remove_extent<typename Op::BRegisters>::type;
  using ValTypeC = vf;
  using Shape_MNK = cute::Shape<cute::_1, cute::_1, cute::_1>;  // in vectors
  using ThrID = cute::Layout<cute::_1>;
  using ALayout = cute::Layout<cute::Shape<cute::_1, cute::_1>>;
  using BLayout = cute::Layout<cute::Shape<cute::_1, cute::_1>>;
  using CLayout = cute::Layout<cute::Shape<cute::_1, cute::_1>>;
};

}  // namespace

template <class T>
struct cute::MMA_Traits<FmaColumns<T>> : VectorTraits<FmaColumns<T>> {};
template <>
struct cute::MMA_Traits<FmaDot> : VectorTraits<FmaDot> {};

namespace {

using namespace cute;

CG_INLINE int64_t rounded_up(int64_t x, int64_t step) { return (x + step - 1) / step * step; }
CG_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// ---------------------------------------------------------------- packing

// rows x depth of A as floats, `row` apart; zeros fill the rows to a multiple of MR and the depth to one of LANES.
CG_INLINE void pack_a(TA const* a, int64_t lda, int64_t rows, int64_t depth, float* out, int64_t row) {
  for (int64_t m = 0; m < rounded_up(rows, MR); ++m, out += row) {
    const int64_t valid = m < rows ? depth : 0;
    CG_SIMD
    for (int64_t k = 0; k < valid; ++k) out[k] = to_f32(a[m * lda + k]);
    for (int64_t k = valid; k < rounded_up(depth, LANES); ++k) out[k] = 0.0f;
  }
}

// Eight rows of eight floats become eight columns.
typedef VectorOf<float, 8>::type v8;
CG_INLINE void transpose8(v8 (&r)[8]) {
  v8 s[8], t[8];
  CUTE_UNROLL
  for (int i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  CUTE_UNROLL
  for (int i = 0; i < 8; i += 4) {
    t[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    t[i + 1] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    t[i + 2] = __builtin_shufflevector(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    t[i + 3] = __builtin_shufflevector(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  CUTE_UNROLL
  for (int i = 0; i < 4; ++i) {
    r[i] = __builtin_shufflevector(t[i], t[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(t[i], t[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// One panel: K rows of NR columns; columns past `cols` are zeros.
static inline void pack_panel(TB const* b, int64_t ldb, int64_t cols, int64_t K, float* out) {
  if (cols < NR) {
    for (int64_t k = 0; k < K; ++k)
      for (int n = 0; n < NR; ++n) out[k * NR + n] = n < cols ? to_f32(B_NT ? b[n * ldb + k] : b[k * ldb + n]) : 0.0f;
  } else if (B_NT) {
    int64_t k = 0;
    for (; k + 8 <= K; k += 8) {
      for (int n = 0; n < NR; n += 8) {
        v8 r[8];
        CUTE_UNROLL
        for (int i = 0; i < 8; ++i) r[i] = load(*reinterpret_cast<Pack<TB, 8> const*>(b + (n + i) * ldb + k));
        transpose8(r);
        CUTE_UNROLL
        for (int i = 0; i < 8; ++i) __builtin_memcpy(out + (k + i) * NR + n, &r[i], sizeof r[i]);
      }
    }
    for (; k < K; ++k)
      for (int n = 0; n < NR; ++n) out[k * NR + n] = to_f32(b[n * ldb + k]);
  } else {
    for (int64_t k = 0; k < K; ++k) {
      CG_SIMD
      for (int n = 0; n < NR; ++n) out[k * NR + n] = to_f32(b[k * ldb + n]);
    }
  }
}

// ---------------------------------------------------------------- register tiles

// c[MR, NR] (+)= a[MR, depth] * b[depth, NR]; rows of a lie row_a floats apart, rows of b row_b elements.
template <class T, class StrideA, class StrideB>
static inline __attribute__((flatten)) void tile_columns(float const* a, StrideA row_a, T const* b, StrideB row_b,
                                                         int64_t depth, float* c, bool first) {
  const auto mma = MMA_Atom<FmaColumns<T>>{};
  Tensor gC = make_tensor(reinterpret_cast<Pack<float>*>(c), Layout<Shape<Int<NV>, Int<MR>>, Stride<_1, Int<NC / LANES>>>{});
  Tensor tC = make_tensor<vf>(Shape<Int<NV>, Int<MR>>{});  // (NV, MR)
  CUTE_UNROLL
  for (int i = 0; i < MR * NV; ++i) tC(i) = first ? vf{} : load(gC(i));

  auto step = [&](int64_t k) {
    Tensor tA = make_tensor(a + k, make_layout(Int<MR>{}, row_a));                                            // (MR)
    Tensor tB = make_tensor(reinterpret_cast<Pack<T> const*>(b + k * int64_t(row_b)), Layout<Int<NV>>{});     // (NV)
    gemm(mma, tB, tA, tC);
  };
  int64_t k = 0;
  for (; k + KU <= depth; k += KU) {
    CUTE_UNROLL
    for (int u = 0; u < KU; ++u) step(k + u);
  }
  for (; k < depth; ++k) step(k);

  CUTE_UNROLL
  for (int i = 0; i < MR * NV; ++i) __builtin_memcpy(&gC(i), &tC(i), sizeof(vf));
}

// c[MR, NV] = a[MR, K] * b[NV, K]^T, both read along k; the last K % LANES elements of b through a zero-filled copy.
static inline __attribute__((flatten)) void tile_dot(float const* a, int64_t row_a, TB const* const (&columns)[NV],
                                                     int64_t K, float* c) {
  const auto mma = MMA_Atom<FmaDot>{};
  Tensor tC = make_tensor<vf>(Shape<Int<NV>, Int<MR>>{});  // (NV, MR), LANES partial sums each
  CUTE_UNROLL
  for (int i = 0; i < MR * NV; ++i) tC(i) = vf{};
  Tensor tB = make_tensor<vf>(Int<NV>{});  // (NV)

  auto step = [&](int64_t k) {
    Tensor tA = make_tensor(reinterpret_cast<Pack<float> const*>(a + k), make_layout(Int<MR>{}, row_a / LANES));  // (MR)
    gemm(mma, tB, tA, tC);
  };
  auto load_step = [&](int64_t k) {
    CUTE_UNROLL
    for (int n = 0; n < NV; ++n) tB(n) = load(*reinterpret_cast<Pack<TB> const*>(columns[n] + k));
    step(k);
  };
  int64_t k = 0;
  for (; k + KU * LANES <= K; k += KU * LANES) {
    CUTE_UNROLL
    for (int u = 0; u < KU; ++u) load_step(k + u * LANES);
  }
  for (; k + LANES <= K; k += LANES) load_step(k);
  if (k < K) {
    CUTE_UNROLL
    for (int n = 0; n < NV; ++n) {
      Pack<TB> tail = {};
      for (int l = 0; l < LANES; ++l)
        if (k + l < K) tail.x[l] = columns[n][k + l];
      tB(n) = load(tail);
    }
    step(k);
  }
  for (int m = 0; m < MR; ++m) {
    for (int n = 0; n < NV; ++n) {
      vf sum = tC(n, m);
      float total = 0.0f;
      for (int l = 0; l < LANES; ++l) total += sum[l];
      c[m * NC + n] = total;
    }
  }
}

// ---------------------------------------------------------------- blocks

CG_INLINE TB const* column(TB const* b, int64_t ldb, int64_t n) { return b + (B_NT ? n * ldb : n); }

// c[rows, cols] = a[rows, depth] * b[depth, cols] (+ c unless first). `a` is packed. `b` is the strip at k0: panels where
// PACK_B, else the operand itself, `panel` holding its last, narrower panel.
static inline void multiply(float const* a, int64_t row_a, TB const* b, int64_t ldb, float const* panels, int64_t K,
                            int64_t k0, int64_t depth, int64_t rows, int64_t cols, float* c) {
  for (int64_t n = 0; n < cols; n += TILE_N) {
    [[maybe_unused]] TB const* at[NV];
    if constexpr (DOT)
      for (int i = 0; i < NV; ++i) at[i] = column(b, ldb, least(n + i, cols - 1));
    for (int64_t m = 0; m < rows; m += MR) {
      float const* am = a + m * row_a;
      float* cm = c + m * NC + n;
      if constexpr (PACK_B)
        tile_columns(am, Int<KC + A_PAD>{}, panels + n * K + k0 * NR, Int<NR>{}, depth, cm, k0 == 0);
      else if constexpr (B_NT)
        tile_dot(am, row_a, at, K, cm);
      else if (n + NR <= cols)
        tile_columns(am, row_a, b + n, ldb, K, cm, true);
      else
        tile_columns(am, row_a, panels, Int<NR>{}, K, cm, true);
    }
  }
}

// Packs what `multiply` needs of columns [0, cols) of b.
static inline void pack_b(TB const* b, int64_t ldb, int64_t cols, int64_t K, float* panels) {
  if constexpr (PACK_B)
    for (int64_t n = 0; n < cols; n += NR) pack_panel(column(b, ldb, n), ldb, least(NR, cols - n), K, panels + n * K);
  else if (!B_NT && cols % NR != 0)
    pack_panel(b + cols / NR * NR, ldb, cols % NR, K, panels);
}

// ---------------------------------------------------------------- the whole product

// Workspace, in floats: block of A | block of C, once per sum | strip of B, once per sum.
template <class Epilogue>
CG_INLINE void contract(TA const* a, int64_t lda, TB const* b, TB const* b2, int64_t ldb, int64_t M, int64_t N, int64_t K,
                       void* workspace, Epilogue const& epilogue) {
  const int64_t row_a = PACK_B ? KC + A_PAD : rounded_up(K, 16) + A_PAD;
  float* const a_block = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(workspace) + 63) & ~uintptr_t(63));
  float* const c = a_block + MC * row_a;
  float* const panels = c + SUMS * MC * NC;
  TB const* const bs[2] = {b, b2};
  const int64_t strip = (PACK_B ? NC : B_NT ? 0 : NR) * K;

  for (int64_t n0 = 0; n0 < N; n0 += NC) {
    const int64_t cols = least(NC, N - n0);
    for (int s = 0; s < SUMS; ++s) pack_b(column(bs[s], ldb, n0), ldb, cols, K, panels + s * strip);
    for (int64_t m0 = 0; m0 < M; m0 += MC) {
      const int64_t rows = least(MC, M - m0);
      int64_t k0 = 0;
      do {  // at least once: an empty sum is zero
        const int64_t depth = PACK_B ? least(KC, K - k0) : K;
        pack_a(a + m0 * lda + k0, lda, rows, depth, a_block, row_a);
        for (int s = 0; s < SUMS; ++s)
          multiply(a_block, row_a, column(bs[s], ldb, n0), ldb, panels + s * strip, K, k0, depth, rows, cols,
                   c + s * MC * NC);
        k0 += depth;
      } while (k0 < K);
      for (int64_t m = 0; m < rows; ++m) {
        float const* c0 = c + m * NC;
        float const* c1 = c0 + (SUMS - 1) * MC * NC;
        CG_SIMD
        for (int64_t n = 0; n < cols; ++n) epilogue(c0[n], c1[n], m0 + m, n0 + n);
      }
    }
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"), externally_visible)) void cutegen_098b96144659546b(void** params) {
  [[maybe_unused]] const int64_t a0 = value<int64_t>(params[3]);
  [[maybe_unused]] const int64_t a1 = value<int64_t>(params[4]);
  [[maybe_unused]] const int64_t a2 = value<int64_t>(params[5]);
  const auto t0 = view<const bf16>(params[0], make_shape(a0, a2));  // (a0, a2)
  const auto t1 = view<const bf16>(params[1], make_shape(a1, a2));  // (a1, a2)
  const auto t2 = view<bf16>(params[2], make_shape(a0, a1));  // (a0, a1)
  void* const workspace = value<void*>(params[6]);
  const int64_t L = 1, M = a0, N = a1, K = a2, lda = a2, ldb = a2, batch_a = 0, batch_b = 0;
  bf16 const* const A = t0.data();
  bf16 const* const B = t1.data();
  bf16 const* const B2 = t1.data();
  for (int64_t l = 0; l < L; ++l) {
    contract(A + l * batch_a, lda, B + l * batch_b, B2 + l * batch_b, ldb, M, N, K, workspace,
            [=](float acc0, [[maybe_unused]] float acc1, int64_t m, int64_t n) __attribute__((always_inline)) {
              t2(m, n) = from_f32<bf16>(acc0);
            });
  }
}
