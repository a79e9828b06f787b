// rowwise-u8-r2: t2[v0:a0, v1:a1] = mul(mul(t0[v0:a0, v1:a1], rsqrt(add(div(sum(v2:a1, mul(t0[v0:a0, v2:a1], t0[v0:a0, v2:a1])), len(a1)), s0))), t1[v1:a1])
//
// Idea: ROWS rows side by side; each reduction evaluates its body over blocks of BLOCK columns into L1 (a loop that vectorises
// whatever the body is) and folds the block into UNROLL vector sums a row, joined pairwise at the end of the row.
// Bound: reading the inputs once (later passes over a row hit L1 or L2), or the arithmetic of the bodies.
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

namespace {

using namespace cute;

// ---------------------------------------------------------------- configuration

constexpr int UNROLL = 8;
constexpr int ROWS = 2;

constexpr int BLOCK = UNROLL * LANES;

static_assert(UNROLL >= 1 && (UNROLL & (UNROLL - 1)) == 0, "UNROLL, the vector sums of a row, is a power of two");
static_assert(ROWS >= 1 && ROWS * UNROLL <= 64, "ROWS * UNROLL vector sums stay in L1, better in registers");

// ---------------------------------------------------------------- reductions

struct Sum {
  static constexpr float identity = 0.0f;
  CG_INLINE vf join(vf a, vf b) { return a + b; }
};
struct Max {  // NaN wins
  static constexpr float identity = -__builtin_inff();
  CG_INLINE vf join(vf a, vf b) { return ((a > b) | (a != a)) ? a : b; }
};
struct Min {
  static constexpr float identity = __builtin_inff();
  CG_INLINE vf join(vf a, vf b) { return ((a < b) | (a != a)) ? a : b; }
};

template <int Q>
struct PerRow {
  float x[Q];
  CUTE_HOST_DEVICE float operator[](int q) const { return x[q]; }
};

// What a reduction's body gave, for later passes: [ROWS, row] floats of workspace, row = columns up to a multiple of BLOCK.
struct Keep {
  float* data;
  int64_t row;
  CUTE_HOST_DEVICE float operator()(int q, int64_t j) const { return data[q * row + j]; }
};
CG_INLINE Keep keep(void* workspace, int64_t cols) {
  return {reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(workspace) + 63) & ~uintptr_t(63)),
          (cols + BLOCK - 1) / BLOCK * BLOCK};
}

template <class Op>
CG_INLINE float finish(vf v) {
  CUTE_UNROLL
  for (int w = LANES / 2; w >= 1; w /= 2) {
    vf other = v;
    CUTE_UNROLL
    for (int l = 0; l < w; ++l) other[l] = v[l + w];
    v = Op::join(v, other);
  }
  return v[0];
}

// r[q] = Op over j < cols of body(q, j), for the Q rows of this pass.
template <class Op, class Body, int Q>
CG_INLINE PerRow<Q> reduce(Int<Q>, int64_t cols, Body const& body, Keep kept = {}) {
  Tensor sums = make_tensor<vf>(Shape<Int<UNROLL>, Int<Q>>{});  // (UNROLL, Q)
  CUTE_UNROLL
  for (int s = 0; s < UNROLL * Q; ++s) sums(s) = splat(Op::identity);

  for (int64_t j = 0; j < cols; j += BLOCK) {
    const int valid = int(cols - j < BLOCK ? cols - j : BLOCK);
    CUTE_UNROLL
    for (int q = 0; q < Q; ++q) {
      alignas(64) float x[BLOCK];
      if (valid == BLOCK) {
        CG_SIMD
        for (int l = 0; l < BLOCK; ++l) x[l] = body(q, j + l);
      } else {
        CG_SIMD
        for (int l = 0; l < valid; ++l) x[l] = body(q, j + l);
        for (int l = valid; l < BLOCK; ++l) x[l] = Op::identity;
      }
      if (kept.data) __builtin_memcpy(kept.data + q * kept.row + j, x, sizeof x);
      Tensor block = make_tensor(reinterpret_cast<Pack<float> const*>(x), Layout<Int<UNROLL>>{});  // (UNROLL)
      CUTE_UNROLL
      for (int u = 0; u < UNROLL; ++u) sums(u, q) = Op::join(sums(u, q), load(block(u)));
    }
  }

  PerRow<Q> r;
  CUTE_UNROLL
  for (int q = 0; q < Q; ++q) {
    CUTE_UNROLL
    for (int w = UNROLL / 2; w >= 1; w /= 2) {
      CUTE_UNROLL
      for (int u = 0; u < w; ++u) sums(u, q) = Op::join(sums(u, q), sums(u + w, q));
    }
    r.x[q] = finish<Op>(sums(0, q));
  }
  return r;
}

// body(q, j) for every column of the Q rows of this pass.
template <class Body, int Q>
CG_INLINE void each(Int<Q>, int64_t cols, Body const& body) {
  for (int q = 0; q < Q; ++q) {
    CG_SIMD
    for (int64_t j = 0; j < cols; ++j) body(q, j);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"), externally_visible, flatten)) void cutegen_ac0453d6faa0170a(void** params) {
  [[maybe_unused]] const int64_t a0 = value<int64_t>(params[3]);
  [[maybe_unused]] const int64_t a1 = value<int64_t>(params[4]);
  const auto t0 = view<const bf16>(params[0], make_shape(a0, a1));  // (a0, a1)
  const auto t1 = view<const bf16>(params[1], make_shape(a1));  // (a1)
  const auto t2 = view<bf16>(params[2], make_shape(a0, a1));  // (a0, a1)
  const float s0 = value<float>(params[5]);
  const int64_t rows = a0, cols = a1;
  auto pass = [&](int64_t first, auto n) {
    const auto r0 = reduce<Sum>(n, cols, [&](int q, int64_t j) { return (to_f32(t0(first + q, j)) * to_f32(t0(first + q, j))); });
    each(n, cols, [&](int q, int64_t j) { t2(first + q, j) = from_f32<bf16>(((to_f32(t0(first + q, j)) * cg_rsqrt(((r0[q] / float(a1)) + float(s0)))) * to_f32(t1(j)))); });
  };
  int64_t first = 0;
  for (; first + ROWS <= rows; first += ROWS) pass(first, Int<ROWS>{});
  if constexpr (ROWS > 1)
    for (; first < rows; ++first) pass(first, Int<1>{});
}
