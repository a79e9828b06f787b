// rowwise-reg-x8t512u1q1c1-oswd: temp [0, 1] exact
// u0[v0:a0, v1:a1] = cast(bf16, add(t0[v0:a0, v1:a1], t1[v0:a0, v1:a1]))
// t3[v0:a0, v1:a1] = u0[v0:a0, v1:a1]
// t4[v0:a0, v1:a1] = mul(mul(u0[v0:a0, v1:a1], rsqrt(add(div(sum(v2:a1, mul(u0[v0:a0, v2:a1], u0[v0:a0, v2:a1])), len(a1)), s0))), t2[v1:a1])
//
// Idea: a row belongs to THREADS threads of each of CLUSTER blocks, and stays on chip from the first reduction to the
// last write: in registers, or in shared memory that bulk copies fill while the first reduction runs. GLOBAL: it is read
// again, for rows of any length; where it is asked to stay in L1, threads hold so little that multiprocessors are full of
// them, so one row comes while others are written. Every thread joins the same partial results in the same order. Where ONLINE
// holds one pass is for both levels, and all of it runs while the row comes.
// Bound: HBM, each byte moved once (GLOBAL: once a pass, but from L1 or L2 while the rows in flight fit there), plus 1.3 us to
// launch. A cluster costs its barriers: one at the start and one a level.
// Prelude of every sm_90a candidate: storage types, conversions in pairs, math on float, cache-hinted copies.
// Errors in the comments are the largest against exact results, in units in the last place of a float.
//
// Includes stand here and nowhere else, so that all candidates begin with the same ones and a search reads them once. Not
// <cute/tensor.hpp> nor <cute/atom/copy_atom.hpp>: these bring the MMAs of every architecture.
#include <cute/tensor_impl.hpp>
#include <cute/atom/copy_traits.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define CG_DEVICE [[maybe_unused]] __device__ __forceinline__

namespace {

// Every output is of 8 bits or fewer, and what sigmoid, silu, gelu, gelu_tanh and tanh give is a factor. Rounding to 8 hides
// 2^-16 of the value, 128 float ulps: so much is left where the slack is smallest, at the tie just above a power of two. So
// exponentials may be the hardware's, and functions short: a 16-bit element has 27 instructions while its bytes are moved.
constexpr bool NARROW = true;
// The same of exponentials, or of their sums: those of one sign err by no more than the worst term.
[[maybe_unused]] constexpr bool NARROW_EXP = true;
// Quotients by what a row shares are factors of outputs of 11 bits or fewer, whose rounding hides 4 roundings of a float.
[[maybe_unused]] constexpr bool NARROW_QUOTIENT = true;

using bf16 = __nv_bfloat16;
using f16 = __half;

// ---------------------------------------------------------------- conversions, exact or to nearest even

template <class T>
struct Pair;
template <>
struct Pair<float> { using type = float2; };
template <>
struct Pair<bf16> { using type = __nv_bfloat162; };
template <>
struct Pair<f16> { using type = __half2; };
template <class T>
using PairOf = typename Pair<T>::type;

CG_DEVICE float2 to_f32x2(float2 v) { return v; }
CG_DEVICE float2 to_f32x2(__nv_bfloat162 v) {  // the halves of the word are the upper halves of the floats
  const uint32_t u = reinterpret_cast<uint32_t const&>(v);
  return make_float2(__uint_as_float(u << 16), __uint_as_float(u & 0xffff0000u));
}
CG_DEVICE float2 to_f32x2(__half2 v) { return __half22float2(v); }

CG_DEVICE float to_f32(float v) { return v; }
CG_DEVICE float to_f32(bf16 v) { return __bfloat162float(v); }
CG_DEVICE float to_f32(f16 v) { return __half2float(v); }

CG_DEVICE void from_f32x2(float2& to, float2 v) { to = v; }
CG_DEVICE void from_f32x2(__nv_bfloat162& to, float2 v) { to = __floats2bfloat162_rn(v.x, v.y); }
CG_DEVICE void from_f32x2(__half2& to, float2 v) { to = __floats2half2_rn(v.x, v.y); }

CG_DEVICE void from_f32(float& to, float v) { to = v; }
CG_DEVICE void from_f32(bf16& to, float v) { to = __float2bfloat16_rn(v); }
CG_DEVICE void from_f32(f16& to, float v) { to = __float2half_rn(v); }

// ---------------------------------------------------------------- math

CG_DEVICE float cg_inf() { return __int_as_float(0x7f800000); }

CG_DEVICE float cg_ex2_approx(float x) {  // 2 ulp; results below 2^-126 become 0
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
CG_DEVICE float cg_rcp_approx(float x) {  // 1 ulp
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

CG_DEVICE float cg_max(float a, float b) {  // NaN wins
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
CG_DEVICE float cg_min(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
CG_DEVICE float cg_abs(float x) { return fabsf(x); }
CG_DEVICE float cg_relu(float x) { return cg_max(x, 0.0f); }
// 1 ulp. Narrow: the square of its root, so that nothing is flushed too early: 5 + 0.7 |x| ulp, 2^-17 for |x| < 104; what a
// sum of such terms errs by comes on top, and both together stay below 2^-16.
CG_DEVICE float cg_exp(float x) {
  if constexpr (NARROW_EXP) {
    const float root = cg_ex2_approx(x * 0x1.715476p-1f);
    return root * root;
  } else {
    return expf(x);
  }
}
CG_DEVICE float cg_exp2(float x) { return exp2f(x); }      // 2 ulp
CG_DEVICE float cg_expm1(float x) { return expm1f(x); }    // 1 ulp
CG_DEVICE float cg_log(float x) { return logf(x); }        // 1 ulp
CG_DEVICE float cg_log2(float x) { return log2f(x); }      // 1 ulp
CG_DEVICE float cg_log1p(float x) { return log1pf(x); }    // 1 ulp
CG_DEVICE float cg_sqrt(float x) { return sqrtf(x); }      // 0.5 ulp
CG_DEVICE float cg_rsqrt(float x) { return rsqrtf(x); }    // 2 ulp
CG_DEVICE float cg_sin(float x) { return sinf(x); }        // 2 ulp
CG_DEVICE float cg_cos(float x) { return cosf(x); }        // 2 ulp

// 1 ulp. Narrow: 2^-19 of the value, from e^2|x| or, below 1/16, from the series.
CG_DEVICE float cg_tanh(float x) {
  if constexpr (NARROW) {
    const float e = cg_ex2_approx(fabsf(x) * 0x1.715476p1f);
    const float far = copysignf(fmaf(-2.0f, cg_rcp_approx(1.0f + e), 1.0f), x);
    return fabsf(x) < 0x1p-4f ? fmaf(x * (x * x), -0x1.555556p-2f, x) : far;
  } else {
    return tanhf(x);
  }
}
CG_DEVICE float cg_erf(float x) { return erff(x); }        // 2 ulp

// e^-|x|. Narrow: the square of its root, so that nothing is flushed too early: 5 + 1.3 |x| ulp.
CG_DEVICE float cg_decay(float x) {
  if constexpr (NARROW) {
    const float root = cg_ex2_approx(fabsf(x) * -0x1.715476p-1f);
    return root * root;
  } else {
    return expf(-fabsf(x));
  }
}

// 4 ulp (narrow: 7 + 1.3 |x| for x < 0, else 4). For x < 0 the numerator is e^x, so that it underflows as the function does.
CG_DEVICE float cg_sigmoid(float x) {
  const float e = cg_decay(x);
  const float r = cg_rcp_approx(1.0f + e);
  return x < 0.0f ? e * r : r;
}

CG_DEVICE float cg_silu(float x) { return x * cg_sigmoid(x); }  // silu(-inf) is -inf * 0, a NaN

// Narrow: x times the normal distribution's tail, e^(-x^2 / 2) by a polynomial of 1 / (1 + c |x|), wrong by 8e-8 at most
// (Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, 7.1.26). What the formula loses to cancellation for
// negative x, and what rounding hides of others, is four times as much.
CG_DEVICE float cg_gelu(float x) {
  if constexpr (NARROW) {
    const float k = cg_rcp_approx(fmaf(0.23164190f, fabsf(x), 1.0f));
    float p = fmaf(k, 0.53070271f, -0.72657602f);
    p = fmaf(k, p, 0.71070687f);
    p = fmaf(k, p, -0.14224837f);
    p = fmaf(k, p, 0.12741480f);
    const float tail = p * k * cg_ex2_approx(x * -0.72134752f * x);
    return x * (x < 0.0f ? tail : 1.0f - tail);
  } else {
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
  }
}

// (1 + tanh(u)) / 2 is sigmoid(2 u), one exponential and no polynomial; a few ulps worse near 0 than as written. Only
// x = -inf differs: there tanh is -1 in both forms, and -inf * 0 a NaN.
CG_DEVICE float cg_gelu_tanh(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  if constexpr (NARROW) {
    return x * cg_sigmoid(2.0f * u);
  } else {
    return 0.5f * x * (1.0f + tanhf(u));
  }
}

CG_DEVICE float cg_softplus(float x) { return cg_max(x, 0.0f) + log1pf(expf(-fabsf(x))); }

// ---------------------------------------------------------------- launches

// Programmatic launch: the next kernel's blocks may take their places; nothing is read or written before the last one
// has ended.
CG_DEVICE void after_the_last_kernel() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// ---------------------------------------------------------------- copies

// One access of S bytes, past L1: for data that is used once. Not `.nc`, which says that nobody writes there while the
// kernel runs: its loads would be moved ahead of the wait for the kernel that writes it.
template <class S>
struct LoadOnce {
  using SRegisters = S const[1];
  using DRegisters = S[1];
  __device__ static void copy(S const& src, S& dst) {
    if constexpr (sizeof(S) == 16) {
      uint4& d = reinterpret_cast<uint4&>(dst);
      asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w) : "l"(&src));
    } else if constexpr (sizeof(S) == 8) {
      uint2& d = reinterpret_cast<uint2&>(dst);
      asm volatile("ld.global.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2];" : "=r"(d.x), "=r"(d.y) : "l"(&src));
    } else {
      static_assert(sizeof(S) == 4, "4, 8 or 16 bytes");
      uint32_t& d = reinterpret_cast<uint32_t&>(dst);
      asm volatile("ld.global.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(d) : "l"(&src));
    }
  }
};

// One access of S bytes, first to be evicted: for data that nobody reads soon.
template <class S>
struct StoreStreaming {
  using SRegisters = S const[1];
  using DRegisters = S[1];
  __device__ static void copy(S const& src, S& dst) {
    if constexpr (sizeof(S) == 16) {
      uint4 const& s = reinterpret_cast<uint4 const&>(src);
      asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                   :: "l"(&dst), "r"(s.x), "r"(s.y), "r"(s.z), "r"(s.w) : "memory");
    } else if constexpr (sizeof(S) == 8) {
      uint2 const& s = reinterpret_cast<uint2 const&>(src);
      asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" :: "l"(&dst), "r"(s.x), "r"(s.y) : "memory");
    } else {
      static_assert(sizeof(S) == 4, "4, 8 or 16 bytes");
      asm volatile("st.global.cs.u32 [%0], %1;"
                   :: "l"(&dst), "r"(reinterpret_cast<uint32_t const&>(src)) : "memory");
    }
  }
};

// What CuTe must know of a copy by one thread of one S.
template <class S>
struct OneThread {
  using ThrID = cute::Layout<cute::_1>;
  using SrcLayout = cute::Layout<cute::Shape<cute::_1, cute::Int<sizeof(S) * 8>>>;
  using DstLayout = SrcLayout;
  using RefLayout = SrcLayout;
};

// A vector from memory to registers or back, one access of the operation after another     (ACCESS, accesses)
template <class Op, class Src, class Dst>
CG_DEVICE void copy_by(Op, Src const& src, Dst&& dst) {
  CUTE_UNROLL
  for (int i = 0; i < cute::size<1>(src); ++i) {
    cute::copy_unpack(cute::Copy_Traits<Op>{}, src(cute::_, i), dst(cute::_, i));
  }
}

}  // namespace

template <class S>
struct cute::Copy_Traits<LoadOnce<S>> : OneThread<S> {};
template <class S>
struct cute::Copy_Traits<StoreStreaming<S>> : OneThread<S> {};

// What the rowwise templates share: element types beyond the prelude's, reductions, a row's vectors, its statistics.
namespace {

using namespace cute;

// ---------------------------------------------------------------- 8-bit floats, integers, conditions

struct f8e4m3 { unsigned char bits; };
struct f8e5m2 { unsigned char bits; };
struct bool8 { unsigned char bits; };

CG_DEVICE float cg_load(float x) { return x; }
CG_DEVICE float cg_load(bf16 x) { return to_f32(x); }
CG_DEVICE float cg_load(f16 x) { return to_f32(x); }
CG_DEVICE float cg_load(f8e4m3 x) {
  uint32_t h;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"(uint16_t(x.bits)));
  return __half2float(__ushort_as_half(uint16_t(h)));
}
CG_DEVICE float cg_load(f8e5m2 x) { return __half2float(__ushort_as_half(uint16_t(x.bits << 8))); }
CG_DEVICE int64_t cg_load(signed char x) { return x; }
CG_DEVICE int64_t cg_load(unsigned char x) { return x; }
CG_DEVICE int64_t cg_load(int x) { return x; }
CG_DEVICE int64_t cg_load(long long x) { return x; }
CG_DEVICE bool cg_load(bool8 x) { return x.bits != 0; }

CG_DEVICE int64_t cg_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
CG_DEVICE int64_t cg_mod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }
CG_DEVICE int64_t cg_imin(int64_t a, int64_t b) { return a < b ? a : b; }
CG_DEVICE int64_t cg_imax(int64_t a, int64_t b) { return a > b ? a : b; }
CG_DEVICE int64_t cg_max(int64_t a, int64_t b) { return a > b ? a : b; }
CG_DEVICE int64_t cg_min(int64_t a, int64_t b) { return a < b ? a : b; }
CG_DEVICE int64_t cg_abs(int64_t x) { return x < 0 ? -x : x; }
CG_DEVICE int64_t cg_sign(int64_t x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); }
CG_DEVICE int64_t cg_rem(int64_t a, int64_t b) { return cg_mod(a, b); }

CG_DEVICE float cg_floor(float x) { return floorf(x); }
CG_DEVICE float cg_ceil(float x) { return ceilf(x); }
CG_DEVICE float cg_round(float x) { return rintf(x); }
CG_DEVICE float cg_pow(float x, float y) { return powf(x, y); }
CG_DEVICE float cg_sign(float x) { return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x); }

// Toward zero, to the nearest end; NaN is 0. Both ends of an 8-bit type are floats, one past the largest of the others is.
CG_DEVICE int64_t cg_cast_i8(float x) { return x != x ? 0 : int(fminf(fmaxf(x, -128.0f), 127.0f)); }
CG_DEVICE int64_t cg_cast_u8(float x) { return x != x ? 0 : int(fminf(fmaxf(x, 0.0f), 255.0f)); }
CG_DEVICE int64_t cg_cast_i32(float x) { return __float2int_rz(x); }
CG_DEVICE int64_t cg_cast_i64(float x) {
  return x != x ? 0 : x >= 0x1p63f ? INT64_MAX : x <= -0x1p63f ? INT64_MIN : int64_t(x);
}
CG_DEVICE int64_t cg_cast_i8(int64_t x) { return cg_imin(cg_imax(x, -128), 127); }
CG_DEVICE int64_t cg_cast_u8(int64_t x) { return cg_imin(cg_imax(x, 0), 255); }
CG_DEVICE int64_t cg_cast_i32(int64_t x) { return cg_imin(cg_imax(x, INT32_MIN), INT32_MAX); }
CG_DEVICE int64_t cg_cast_i64(int64_t x) { return x; }

CG_DEVICE bool cg_lt(float a, float b) { return a < b; }
CG_DEVICE bool cg_le(float a, float b) { return a <= b; }
CG_DEVICE bool cg_gt(float a, float b) { return a > b; }
CG_DEVICE bool cg_ge(float a, float b) { return a >= b; }
CG_DEVICE bool cg_eq(float a, float b) { return a == b; }
CG_DEVICE bool cg_ne(float a, float b) { return a != b; }
CG_DEVICE bool cg_lt(int64_t a, int64_t b) { return a < b; }
CG_DEVICE bool cg_le(int64_t a, int64_t b) { return a <= b; }
CG_DEVICE bool cg_gt(int64_t a, int64_t b) { return a > b; }
CG_DEVICE bool cg_ge(int64_t a, int64_t b) { return a >= b; }
CG_DEVICE bool cg_eq(int64_t a, int64_t b) { return a == b; }
CG_DEVICE bool cg_ne(int64_t a, int64_t b) { return a != b; }
CG_DEVICE bool cg_and(bool a, bool b) { return a && b; }
CG_DEVICE bool cg_or(bool a, bool b) { return a || b; }
CG_DEVICE bool cg_not(bool a) { return !a; }

CG_DEVICE uint32_t to_f8e4m3x2(float lo, float hi) {  // to nearest even, to the largest at most
  uint16_t both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(hi), "f"(lo));
  return both;
}
CG_DEVICE uint32_t to_f8e5m2x2(float lo, float hi) {
  uint16_t both;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(hi), "f"(lo));
  return both;
}

CG_DEVICE void cg_store(float& to, float x) { to = x; }
CG_DEVICE void cg_store(bf16& to, float x) { from_f32(to, x); }
CG_DEVICE void cg_store(f16& to, float x) { from_f32(to, x); }
CG_DEVICE void cg_store(f8e4m3& to, float x) { to.bits = (unsigned char)to_f8e4m3x2(x, 0.0f); }
CG_DEVICE void cg_store(f8e5m2& to, float x) { to.bits = (unsigned char)to_f8e5m2x2(x, 0.0f); }
CG_DEVICE void cg_store(signed char& to, int64_t x) { to = (signed char)cg_cast_i8(x); }
CG_DEVICE void cg_store(unsigned char& to, int64_t x) { to = (unsigned char)cg_cast_u8(x); }
CG_DEVICE void cg_store(int& to, int64_t x) { to = int(cg_cast_i32(x)); }
CG_DEVICE void cg_store(long long& to, int64_t x) { to = x; }
CG_DEVICE void cg_store(bool8& to, bool x) { to.bits = x ? 1 : 0; }

// The word of two neighbours that are converted together.
template <class T>
struct Both { using type = void; };
template <>
struct Both<bf16> { using type = __nv_bfloat162; };
template <>
struct Both<f16> { using type = __half2; };
template <>
struct Both<f8e4m3> { using type = uint16_t; };
template <>
struct Both<f8e5m2> { using type = uint16_t; };
template <class T>
using BothOf = typename Both<T>::type;

template <class T>
CG_DEVICE void cg_store_both(BothOf<T>& to, float lo, float hi) {
  if constexpr (is_same_v<T, f8e4m3>) to = uint16_t(to_f8e4m3x2(lo, hi));
  else if constexpr (is_same_v<T, f8e5m2>) to = uint16_t(to_f8e5m2x2(lo, hi));
  else from_f32x2(to, make_float2(lo, hi));
}

CG_DEVICE float cg_cast_f32(float x) { return x; }
template <class T>
CG_DEVICE float cg_through(float x) {
  T stored;
  cg_store(stored, x);
  return cg_load(stored);
}
CG_DEVICE float cg_cast_f16(float x) { return cg_through<f16>(x); }
CG_DEVICE float cg_cast_bf16(float x) { return cg_through<bf16>(x); }
CG_DEVICE float cg_cast_f8e4m3(float x) { return cg_through<f8e4m3>(x); }
CG_DEVICE float cg_cast_f8e5m2(float x) { return cg_through<f8e5m2>(x); }

// What a row divides by: 1 / (b scale) in two floats, so a quotient is two products and one rounding. It errs by less than
// the reference's one rounding, U |q| and the underflow: what is rounded is off by 2^-47, and where that decides a tie
// the tie is not just above a power of two. What has an exact quotient gets it. `scale` keeps the reciprocal normal, and its
// smaller part below 1, so that no overflow of one product meets another's of the other sign. Where `next` is no normal
// number the one product is right: of zeros with their sign, infinities, quotients by 0, and quotients below 2^-126, whose
// underflow is as large as what it errs by. Narrow: the one product, 2 U off.
struct Divisor {
  float scale, inverse, rest;
  CG_DEVICE Divisor() {}
  CG_DEVICE Divisor(float x) {
    const float size = fabsf(x);
    const float up = __uint_as_float((253u << 23) - (__float_as_uint(size) & 0x7f800000u));  // size up is in [1/2, 1)
    scale = size > 0x1p96f ? 0x1p-32f : size < 0x1p-24f ? up : 1.0f;
    const float b = x * scale;
    inverse = 1.0f / b;
    rest = NARROW_QUOTIENT ? 0.0f : fmaf(-inverse, b, 1.0f) / b;
  }
};
CG_DEVICE float operator/(float a, Divisor const& d) {
  const float x = a * d.scale, near = x * d.inverse;
  if constexpr (NARROW_QUOTIENT) {
    return near;
  } else {
    const float next = fmaf(x, d.inverse, x * d.rest);
    return fabsf(next) >= 0x1p-126f ? next : near;
  }
}

}  // namespace

// ---------------------------------------------------------------- reductions

namespace ops {  // named, for not every one of them is used

struct Sum {
  using T = float;
  CG_DEVICE static T none() { return 0.0f; }
  CG_DEVICE static T of(float x, int64_t) { return x; }
  CG_DEVICE static T join(T a, T b) { return a + b; }
};
struct Prod {
  using T = float;
  CG_DEVICE static T none() { return 1.0f; }
  CG_DEVICE static T of(float x, int64_t) { return x; }
  CG_DEVICE static T join(T a, T b) { return a * b; }
};
struct Max {  // NaN wins
  using T = float;
  CG_DEVICE static T none() { return -cg_inf(); }
  CG_DEVICE static T of(float x, int64_t) { return x; }
  CG_DEVICE static T join(T a, T b) { return cg_max(a, b); }
};
struct Min {
  using T = float;
  CG_DEVICE static T none() { return cg_inf(); }
  CG_DEVICE static T of(float x, int64_t) { return x; }
  CG_DEVICE static T join(T a, T b) { return cg_min(a, b); }
};
struct Place {
  float x;
  int at;
};
template <bool GREATEST>
struct Arg {  // the first NaN, else the lowest of the best
  using T = Place;
  CG_DEVICE static T none() { return {0.0f, INT32_MAX}; }
  CG_DEVICE static T of(float x, int64_t at) { return {x, int(at)}; }
  CG_DEVICE static T join(T a, T b) {
    const bool a_nan = a.x != a.x, b_nan = b.x != b.x;
    const bool better = b_nan ? !a_nan : (GREATEST ? b.x > a.x : b.x < a.x);
    const bool equal = a_nan == b_nan && (a_nan || a.x == b.x);
    const bool take = b.at != INT32_MAX && (a.at == INT32_MAX || better || (equal && b.at < a.at));
    return {take ? b.x : a.x, take ? b.at : a.at};
  }
};
using ArgMax = Arg<true>;
using ArgMin = Arg<false>;

}  // namespace ops

namespace {

using namespace ops;

CG_DEVICE float shuffle(float x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
CG_DEVICE Place shuffle(Place p, int mask) {
  return {__shfl_xor_sync(0xffffffffu, p.x, mask), __shfl_xor_sync(0xffffffffu, p.at, mask)};
}
// Joined over LANES neighbours; every one gets the result, bit for bit the same.
template <class Op, int LANES>
CG_DEVICE typename Op::T butterfly(typename Op::T x) {
  CUTE_UNROLL
  for (int mask = 1; mask < LANES; mask *= 2) x = Op::join(x, shuffle(x, mask));
  return x;
}

// A statistic in memory: 8 bytes whatever it is.
CG_DEVICE uint2 pack(float x) { return make_uint2(__float_as_uint(x), 0); }
CG_DEVICE uint2 pack(Place p) { return make_uint2(__float_as_uint(p.x), uint32_t(p.at)); }
CG_DEVICE void unpack(uint2 from, float& to) { to = __uint_as_float(from.x); }
CG_DEVICE void unpack(uint2 from, Place& to) { to = {__uint_as_float(from.x), int(from.y)}; }

// ---------------------------------------------------------------- configuration

enum class Row { REGISTERS, SHARED, GLOBAL };  // where a row lies between its passes
enum class Load { CACHED, ONCE };
enum class Store { CACHED, STREAMING };
enum class Stay { NOWHERE, L2, L1 };  // where what is read again is asked to stay until then

constexpr Row ROW = Row::REGISTERS;
constexpr int VEC = 8;
constexpr int THREADS = 512;
constexpr int UNROLL = 1;
constexpr int ROWS = 1;
constexpr int CLUSTER = 1;
constexpr int SLICE_UNIT = 8;
constexpr int STAGES = 1;
constexpr Load LOAD = Load::ONCE;
[[maybe_unused]] constexpr Store STORE = Store::STREAMING;
constexpr bool EARLY = true;
constexpr bool WHOLE = true;
constexpr bool HAS_PRODUCER = false;
constexpr Stay STAY = Stay::NOWHERE;
[[maybe_unused]] constexpr bool PDL = true;

// ---------------------------------------------------------------- the math

using Streams = tuple<bf16, bf16, bf16>;
using Sinks = tuple<bf16, bf16>;
using Ops = tuple<Sum>;
using Folds = tuple<>;                   // over all rows
constexpr int LEVELS = 1;
constexpr int LEVEL[] = {0};
[[maybe_unused]] constexpr bool MERGES = false;    // whether parts of a row do level 1 by themselves
[[maybe_unused]] constexpr bool RESUMABLE = true; // whether outputs go on from what the last level has
constexpr bool ALONG[] = {true, true, false};                // whether a stream is another one in each row
constexpr bool USED[LEVELS + 1][3] = {{true, true, false}, {true, true, true}};        // by a level of reductions, the last by the sinks

constexpr int STREAMS = tuple_size<Streams>::value, SINKS = tuple_size<Sinks>::value, STATS = tuple_size<Ops>::value;
template <int S>
using Element = tuple_element_t<S, Streams>;
template <int J>
using Op = tuple_element_t<J, Ops>;
using EachStream = make_int_sequence<STREAMS>;
using EachSink = make_int_sequence<SINKS>;
using EachStat = make_int_sequence<STATS>;

// What all elements of a row share.
struct Held {
  float h0;
};

// r holds the statistics so far, v the values of the streams at column j.
struct Math {
  bf16* t0;
  bf16* t1;
  bf16* t2;
  bf16* t3;
  bf16* t4;
  int64_t a0;
  float s0;
  static constexpr int64_t a1 = 4096;
  int64_t v4;

  CG_DEVICE void seat([[maybe_unused]] int64_t row) {
    v4 = row;
  }

  template <int S>
  CG_DEVICE auto at([[maybe_unused]] int64_t j) const {
    if constexpr (S == 0) {
      return t0 + (v4 * a1 + int64_t(0)) + j;
    }
    if constexpr (S == 1) {
      return t1 + (v4 * a1 + int64_t(0)) + j;
    }
    if constexpr (S == 2) {
      return t2 + (int64_t(0)) + j;
    }
  }
  template <int O>
  CG_DEVICE auto sink([[maybe_unused]] int64_t j) const {
    if constexpr (O == 0) {
      return t3 + (v4 * a1 + int64_t(0)) + j;
    }
    if constexpr (O == 1) {
      return t4 + (v4 * a1 + int64_t(0)) + j;
    }
  }

  template <int P, class R>
  CG_DEVICE void prepare(R const& r, Held& held) const {
    if constexpr (P == 1) held.h0 = cg_rsqrt(((get<0>(r) / float(int64_t(a1))) + float(s0)));
  }

  template <int J, class V, class R>
  CG_DEVICE float term(V const& v, R const& r, Held const& held, [[maybe_unused]] int64_t j) const {
    if constexpr (J == 0) {
      return float((cg_cast_bf16((get<0>(v) + get<1>(v))) * cg_cast_bf16((get<0>(v) + get<1>(v)))));
    }
  }

  template <class V, class R>
  CG_DEVICE auto outputs(V const& v, R const& r, Held const& held, [[maybe_unused]] int64_t j) const {
    return cute::make_tuple(float(cg_cast_bf16((get<0>(v) + get<1>(v)))), float(((cg_cast_bf16((get<0>(v) + get<1>(v))) * held.h0) * get<2>(v))));
  }

  template <class V, class R>
  CG_DEVICE float resumed(V const& v, R const& r, Held const& held, [[maybe_unused]] int64_t j) const {
    return float(cg_cast_bf16((get<0>(v) + get<1>(v))));
  }
  template <class V, class R>
  CG_DEVICE auto resume([[maybe_unused]] float own, V const& v, R const& r, Held const& held, [[maybe_unused]] int64_t j) const {
    return cute::make_tuple(float(own), float(((own * held.h0) * get<2>(v))));
  }

  template <class R>
  CG_DEVICE void finish(R const& r, Held const& held) const {
  }

  template <class R>
  CG_DEVICE R whole(R r, [[maybe_unused]] float share) const {
    return r;
  }

  template <int J, class R>
  CG_DEVICE float about(R const& r) const {
  }
  template <int J, class R>
  CG_DEVICE float moved(R const& part, float own, float to, [[maybe_unused]] float length) const {
  }
};

// ---------------------------------------------------------------- vectors of a row

// Elements of one access: 16 bytes, or the vector where it is shorter.
template <class X>
constexpr int ACCESS = VEC * sizeof(X) < 16 ? VEC : 16 / int(sizeof(X));
template <int BYTES>
struct Words { using type = uint_bit_t<BYTES * 8>; };
template <>
struct Words<8> { using type = uint2; };
template <>
struct Words<16> { using type = uint4; };
template <class X>
using Access = typename Words<ACCESS<X> * int(sizeof(X))>::type;  // of registers: pairs of them would be taken apart again
template <class X>
using Accesses = Shape<Int<ACCESS<X>>, Int<VEC / ACCESS<X>>>;  // of a vector

template <class X, bool IS_ONCE>
CG_DEVICE auto load_op() {
  if constexpr (IS_ONCE && sizeof(Access<X>) >= 4) return LoadOnce<Access<X>>{};
  else return UniversalCopy<Access<X>>{};
}
template <class X>
CG_DEVICE auto store_op() {
  if constexpr (STORE == Store::STREAMING && sizeof(Access<X>) >= 4) return StoreStreaming<Access<X>>{};
  else return UniversalCopy<Access<X>>{};
}

template <class X>
CG_DEVICE auto shared_op() {
  return UniversalCopy<Access<X>>{};
}

// A vector in memory, or in registers                     gX, sX, rX: (ACCESS, VEC / ACCESS)
template <class Pointer>
CG_DEVICE auto vector_at(Pointer at) {
  using X = remove_cv_t<typename iterator_traits<Pointer>::value_type>;
  return make_tensor(at, make_layout(Accesses<X>{}));
}
template <class X>
CG_DEVICE auto fragment_of() {
  return make_tensor<X>(make_layout(Accesses<X>{}));
}

// Element e of a vector. Two bf16 are the upper halves of floats: one instruction each.
template <class Vector>
CG_DEVICE auto element_of(Vector const& x, int e) {
  if constexpr (VEC % 2 == 0 && is_same_v<typename Vector::value_type, bf16>) {
    const uint32_t both = recast<uint32_t>(x)(e / 2);
    return __uint_as_float(e % 2 == 0 ? both << 16 : both & 0xffff0000u);
  } else {
    return cg_load(x(e));
  }
}

// The values of element e of a vector, one a stream.
template <int P, class X>
CG_DEVICE auto values(X const& x, int e) {
  return transform(EachStream{}, [&](auto s) {
    if constexpr (USED[P][s]) return element_of(get<s>(x), e);
    else return Int<0>{};
  });
}

struct NoStatistic {
  template <class O>
  CG_DEVICE auto operator()(O) const { return O::none(); }
};
CG_DEVICE auto no_statistics() { return transform(Ops{}, NoStatistic{}); }
using Statistics = decltype(no_statistics());

// Joins the VEC elements of a vector, pairwise, into the statistics of level P.
template <int P, class X>
CG_DEVICE void accumulate(Statistics& sums, X const& x, int64_t col, Math const& math, Statistics const& r, Held const& held) {
  for_each(EachStat{}, [&](auto j) {
    if constexpr (LEVEL[j] == P) {
      typename Op<j>::T part[VEC];
      CUTE_UNROLL
      for (int e = 0; e < VEC; ++e) part[e] = Op<j>::of(math.term<j>(values<P>(x, e), r, held, col + e), col + e);
      CUTE_UNROLL
      for (int h = 1; h < VEC; h *= 2) {
        CUTE_UNROLL
        for (int e = 0; e + h < VEC; e += 2 * h) part[e] = Op<j>::join(part[e], part[e + h]);
      }
      get<j>(sums) = Op<j>::join(get<j>(sums), part[0]);
    }
  });
}

// Writes a vector of every sink: `outputs(e)` has those of element e.
template <class Outputs>
CG_DEVICE void write_by(Outputs const& outputs, int64_t col, Math const& math) {
  auto out = transform(Sinks{}, [&](auto y) { return fragment_of<decltype(y)>(); });
  constexpr int PAIR = VEC % 2 == 0 ? 2 : 1;
  CUTE_UNROLL
  for (int e = 0; e < VEC; e += PAIR) {
    const auto lo = outputs(e);
    const auto hi = outputs(e + PAIR - 1);
    for_each(EachSink{}, [&](auto o) {
      auto& rY = get<o>(out);  // (ACCESS, VEC / ACCESS)
      using Y = tuple_element_t<o, Sinks>;
      if constexpr (PAIR == 2 && !is_same_v<BothOf<Y>, void>) {
        cg_store_both<Y>(recast<BothOf<Y>>(rY)(e / 2), get<o>(lo), get<o>(hi));
      } else {
        cg_store(rY(e), get<o>(lo));
        if constexpr (PAIR == 2) cg_store(rY(e + 1), get<o>(hi));
      }
    });
  }
  for_each(EachSink{}, [&](auto o) {
    copy_by(store_op<tuple_element_t<o, Sinks>>(), get<o>(out), vector_at(make_gmem_ptr(math.sink<o>(col))));
  });
}
template <class X>
CG_DEVICE void write(X const& x, int64_t col, Math const& math, Statistics const& r, Held const& held) {
  write_by([&](int e) { return math.outputs(values<LEVELS>(x, e), r, held, col + e); }, col, math);
}

}  // namespace

namespace {

// A block's part of a row: its vectors come in chunks of THREADS * UNROLL from global memory, or lie in registers or
// shared memory; its statistics go through shuffles, shared memory and, over a cluster, distributed shared memory.

constexpr int BLOCK = THREADS * ROWS;                   // threads that compute
constexpr int WARPS = THREADS > 32 ? THREADS / 32 : 1;  // of a row, in a block
constexpr int LANES = THREADS < 32 ? THREADS : 32;      // of a warp, in a row
constexpr int CHUNK = THREADS * UNROLL * VEC;           // elements that a block has in registers at a time
constexpr int SLOTS = CLUSTER * WARPS;                  // partial results of a row

static_assert(VEC >= 1 && VEC <= 32 && (VEC & (VEC - 1)) == 0, "vectors are powers of two");
static_assert((THREADS & (THREADS - 1)) == 0 && BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, a row in whole or equal parts of one");
static_assert(UNROLL >= 1 && UNROLL * VEC <= 128, "fragments stay in registers");
static_assert(ROW == Row::REGISTERS || ROWS == 1, "rows side by side only in registers");
static_assert(CLUSTER >= 1 && CLUSTER <= 16 && (CLUSTER == 1 || ROWS == 1), "a cluster has one row");
static_assert(STAGES >= 1 && STAGES <= 64, "a barrier a chunk");

// Both levels of statistics where MERGES holds, in place of a level.
constexpr int BOTH = -1;

// Whether level P uses a stream.
template <int P, int S>
constexpr bool USES = P == BOTH ? USED[0][S] || USED[LEVELS > 1 ? 1 : 0][S] : USED[P == BOTH ? 0 : P][S];

// Whether a stream stays in registers or shared memory: what belongs to the row does, and what all rows share if it is
// wanted early.
template <int S>
constexpr bool KEPT = ROW != Row::GLOBAL && (ALONG[S] || (ROW == Row::REGISTERS && EARLY));

// ---------------------------------------------------------------- what L2 is asked to do

// Whether a row is read again while it is on its way: then it is asked to stay in L2, else to be the first to go.
enum class Again { UNKNOWN, SOON, NEVER };

struct KeptStreams {
  static constexpr int LEVEL = 0;
  static constexpr Again AGAIN = Again::UNKNOWN;
  template <int S>
  CG_DEVICE static constexpr bool has() { return KEPT<S>; }
};
template <int P, Again A = Again::UNKNOWN>
struct LateStreams {  // of a level
  static constexpr int LEVEL = P;
  static constexpr Again AGAIN = A;
  template <int S>
  CG_DEVICE static constexpr bool has() { return USES<P, S> && !KEPT<S>; }
};

template <Again AGAIN>
CG_DEVICE uint64_t l2_policy() {
  uint64_t policy;
  if constexpr (AGAIN == Again::SOON) {
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  } else if constexpr (AGAIN == Again::NEVER) {
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}

// What L1 is asked: past it, or as L2 is, for what a block reads again while its neighbours have room there as well.
template <Again AGAIN, bool IN_L1>
struct L1Hint {
  static_assert(!IN_L1, "who reads again knows whether it was the last time");
  static constexpr char PTX[] = "no_allocate";
};
template <>
struct L1Hint<Again::SOON, true> { static constexpr char PTX[] = "evict_last"; };
template <>
struct L1Hint<Again::NEVER, true> { static constexpr char PTX[] = "evict_first"; };

// One access of S bytes, with hints of both caches.
template <class S, Again AGAIN, bool IN_L1 = false>
struct LoadAgain {
  using SRegisters = S const[1];
  using DRegisters = S[1];
  using Hint = L1Hint<AGAIN, IN_L1>;
  __device__ static void copy(S const& src, S& dst) {
    const uint64_t policy = l2_policy<AGAIN>();
    if constexpr (sizeof(S) == 16) {
      uint4& d = reinterpret_cast<uint4&>(dst);
      asm volatile("ld.global.L1::%6.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                   : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w) : "l"(&src), "l"(policy), "C"(Hint::PTX));
    } else if constexpr (sizeof(S) == 8) {
      uint2& d = reinterpret_cast<uint2&>(dst);
      asm volatile("ld.global.L1::%4.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                   : "=r"(d.x), "=r"(d.y) : "l"(&src), "l"(policy), "C"(Hint::PTX));
    } else {
      static_assert(sizeof(S) == 4, "4, 8 or 16 bytes");
      asm volatile("ld.global.L1::%3.L2::cache_hint.u32 %0, [%1], %2;"
                   : "=r"(reinterpret_cast<uint32_t&>(dst)) : "l"(&src), "l"(policy), "C"(Hint::PTX));
    }
  }
};

}  // namespace

template <class S, Again AGAIN, bool IN_L1>
struct cute::Copy_Traits<LoadAgain<S, AGAIN, IN_L1>> : OneThread<S> {};

namespace {

// The load of a vector of stream S, where level P wants it.
template <int P, int S, Again AGAIN>
CG_DEVICE auto load_op_of() {
  using X = Element<S>;
  if constexpr (AGAIN != Again::UNKNOWN && sizeof(Access<X>) >= 4) {
    return LoadAgain<Access<X>, AGAIN>{};
  } else if constexpr (ROW == Row::GLOBAL && STAY != Stay::NOWHERE && ALONG[S] && sizeof(Access<X>) >= 4) {
    constexpr bool IS_LAST = P == LEVELS || (SINKS == 0 && (P == BOTH || P == LEVELS - 1));
    return LoadAgain<Access<X>, IS_LAST ? Again::NEVER : Again::SOON, STAY == Stay::L1>{};
  } else {
    return load_op<X, LOAD == Load::ONCE && ALONG[S] && ROW != Row::GLOBAL>();
  }
}

// Columns `first` to `first + length` of a row, by the threads of it in one block.
struct Part {
  int tid;
  int64_t first, length;

  CG_DEVICE int64_t place(int64_t chunk, int u) const { return chunk * CHUNK + (int64_t(u) * THREADS + tid) * VEC; }
  // WHOLE: there are no chunks but whole ones of rows that are there
  CG_DEVICE bool has(int64_t chunk, int u) const {
    if constexpr (WHOLE) return ROWS == 1 || length > 0;
    else return place(chunk, u) < length;
  }
};

// Fragments of a chunk                                    rX: (ACCESS, VEC / ACCESS, UNROLL)
template <int S>
CG_DEVICE auto fragment() {
  return make_tensor<Element<S>>(make_layout(append(Accesses<Element<S>>{}, Int<UNROLL>{})));
}

// Vectors of the wanted streams, in one chunk of global memory.
template <class Wanted>
CG_DEVICE auto load(Math const& math, Part const& part, int64_t chunk) {
  auto x = transform(EachStream{}, [&](auto s) {
    if constexpr (Wanted::template has<s>()) return fragment<s>();
    else return Int<0>{};
  });
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    if (!part.has(chunk, u)) continue;
    for_each(EachStream{}, [&](auto s) {
      if constexpr (Wanted::template has<s>()) {
        auto const* at = math.at<s>(part.first + part.place(chunk, u));
        copy_by(load_op_of<Wanted::LEVEL, s, Wanted::AGAIN>(), vector_at(make_gmem_ptr(at)), get<s>(x)(_, _, u));
      }
    });
  }
  return x;
}

// ---------------------------------------------------------------- chunks in shared memory

// A stage holds a chunk of every kept stream, one after another. Its bytes before stream S:
template <int S>
CG_DEVICE constexpr int stage_bytes() {
  int bytes = 0;
  for_each(make_int_sequence<S>{}, [&](auto s) {
    if constexpr (KEPT<s>) bytes += CHUNK * int(sizeof(Element<s>));
  });
  return bytes;
}

CG_DEVICE void bulk_copy(void const* from, uint64_t& full, void* to, int bytes, uint64_t policy) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
               :: "r"(cast_smem_ptr_to_uint(to)), "l"(from), "r"(bytes), "r"(cast_smem_ptr_to_uint(&full)), "l"(policy) : "memory");
}

// One thread has a chunk copied to a stage; `full` completes when it is there.
CG_DEVICE void copy_chunk(Math const& math, Part const& part, int64_t chunk, unsigned char* stage, uint64_t& full,
                          uint64_t policy) {
  const int64_t at = chunk * CHUNK, left = part.length - at, n = left < 0 ? 0 : left < CHUNK ? left : CHUNK;
  int bytes = 0;
  for_each(EachStream{}, [&](auto s) {
    if constexpr (KEPT<s>) bytes += int(n * sizeof(Element<s>));
  });
  set_barrier_transaction_bytes(full, bytes);
  if (n == 0) return;
  for_each(EachStream{}, [&](auto s) {
    if constexpr (KEPT<s>) {
      bulk_copy(math.at<s>(part.first + at), full, stage + stage_bytes<s>(), int(n * sizeof(Element<s>)), policy);
    }
  });
}

// Vectors of the kept streams that level P uses, in one stage.
template <int P>
CG_DEVICE auto load_stage(Part const& part, int64_t chunk, unsigned char* stage) {
  auto x = transform(EachStream{}, [&](auto s) {
    if constexpr (KEPT<s> && USES<P, s>) return fragment<s>();
    else return Int<0>{};
  });
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    if (!part.has(chunk, u)) continue;
    for_each(EachStream{}, [&](auto s) {
      if constexpr (KEPT<s> && USES<P, s>) {
        auto const* at = reinterpret_cast<Element<s> const*>(stage + stage_bytes<s>()) + part.place(0, u);
        copy_by(shared_op<Element<s>>(), vector_at(make_smem_ptr(at)), get<s>(x)(_, _, u));
      }
    });
  }
  return x;
}

// ---------------------------------------------------------------- passes

// What level P uses of a chunk: `near`, the fragments of the kept streams, and `late`, those of the others.
template <int P, class Near, class Late>
CG_DEVICE auto joined(Near const& near, Late const& late) {
  return transform(EachStream{}, [&](auto s) {
    if constexpr (!USES<P, s>) return Int<0>{};
    else if constexpr (!KEPT<s>) return get<s>(late);
    else return get<s>(near);
  });
}

// The same, the late ones from global memory.
template <int P, class Near>
CG_DEVICE auto chunk_of(Near const& near, Math const& math, Part const& part, int64_t chunk) {
  return joined<P>(near, load<LateStreams<P>>(math, part, chunk));
}

// Calls step(v, column, u) for each vector that the thread has of `x`, a chunk: its u-th.
template <int P, class X, class Step>
CG_DEVICE void each_of(X const& x, Part const& part, int64_t chunk, Step const& step) {
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    if (!part.has(chunk, u)) continue;
    const auto v = transform(EachStream{}, [&](auto s) {
      if constexpr (!USES<P, s>) return Int<0>{};
      else return get<s>(x)(_, _, u);
    });
    step(v, part.first + part.place(chunk, u), u);
  }
}

// ---------------------------------------------------------------- statistics

using Slots = uint2[STATS][ROWS][SLOTS];

CG_DEVICE void store_remote(uint2* at, int block, uint2 value) {
  const uint32_t to = set_block_rank(cast_smem_ptr_to_uint(at), uint32_t(block));
  asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" :: "r"(to), "r"(value.x), "r"(value.y) : "memory");
}

// All threads that compute; a producer warp is none of them.
CG_DEVICE void sync_row() {
  if constexpr (CLUSTER > 1) {
    cluster_arrive();
    cluster_wait();
  } else if constexpr (HAS_PRODUCER) {
    asm volatile("bar.sync 1, %0;" :: "n"(BLOCK) : "memory");
  } else {
    __syncthreads();
  }
}

// Statistics of level P over all threads of the row, in the block or the cluster: `sums` is a thread's.
template <int P>
CG_DEVICE void join_row(Statistics& r, Statistics const& sums, Part const& part, Slots& slots, int q, int rank) {
  [[maybe_unused]] const int warp = part.tid / 32, lane = part.tid % 32;
  for_each(EachStat{}, [&](auto j) {
    if constexpr (LEVEL[j] == P) {
      get<j>(r) = butterfly<Op<j>, LANES>(get<j>(sums));
      if constexpr (CLUSTER > 1) {
        if (lane < CLUSTER) store_remote(&slots[j][q][rank * WARPS + warp], lane, pack(get<j>(r)));
      } else if constexpr (WARPS > 1) {
        if (lane == 0) slots[j][q][warp] = pack(get<j>(r));
      }
    }
  });
  if constexpr (SLOTS > 1) {
    sync_row();
    constexpr int WIDTH = SLOTS < 32 ? SLOTS : 32;
    for_each(EachStat{}, [&](auto j) {
      if constexpr (LEVEL[j] == P) {
        typename Op<j>::T all = Op<j>::none();
        CUTE_UNROLL
        for (int slot = 0; slot < SLOTS; slot += WIDTH) {
          typename Op<j>::T one;
          unpack(slots[j][q][slot + part.tid % WIDTH], one);
          all = Op<j>::join(all, one);
        }
        get<j>(r) = butterfly<Op<j>, WIDTH>(all);
      }
    });
  }
}

// The blocks of a row `share` it: how many times longer it is than a part.
CG_DEVICE float share_of(int64_t columns, Part const& part) { return float(columns) / float(part.length > 0 ? part.length : 1); }

// Columns of a block where `blocks` share a row: equal, in units that every copy and vector divides.
CG_DEVICE Part part_of(int tid, int64_t columns, int64_t blocks, int64_t rank) {
  const int64_t unit = blocks * SLICE_UNIT, slice = (columns + unit - 1) / unit * SLICE_UNIT, first = rank * slice;
  const int64_t rest = columns - first;
  return {tid, first, rest < 0 ? 0 : rest < slice ? rest : slice};
}

}  // namespace

namespace {

// Both levels of statistics in one pass over the row, where MERGES holds: a softmax's maximum and sum of exponentials, a
// mean and its sum of squares. A thread has its sums of level 1 about what level 0 says of the elements that it has seen,
// and moves them as it sees more: once a chunk, not once an element.
//
// Errors, beside those of two passes, in units u of the last place of a float. An exponential's argument is split at
// the maxima that a thread had, x - own and own - to, whose roundings are together at most those of x - top, for all
// have one sign. A move is an exponential, never a short one, and a product, 2 u of what was summed before; where the
// maximum stays it is a product by 1. A thread moves once a chunk, which it adds UNROLL vectors from, and once at the
// end. So of n terms nobody has more than 2 (n / CHUNK + 1) u besides what adding one after another costs, and a sum
// may lose (2 sqrt(n) + n / 8) u. Squares: a chunk's are about a mean that it is part of and are added to squares, so
// nothing cancels; a move adds move^2 length, which is no larger than the squares about the new mean, and what is left
// of the sum about the old one, which corrects the rounding of that mean. That the mean is only estimated, from a
// reciprocal that is wrong by an ulp, does no harm: sums are about whatever `about` says, and moved from there.
constexpr bool ONLINE = MERGES && ROW != Row::REGISTERS;

struct Online {
  Statistics own = no_statistics();
  float about[STATS];  // what own is about, of level 1
  float seen = 0.0f;   // elements

  // own as sums about what `all` says of level 0
  CG_DEVICE Statistics moved(Math const& math, Statistics const& all) const {
    Statistics sums = own;
    for_each(EachStat{}, [&](auto j) {
      if constexpr (MERGES && LEVEL[j] == 1) {
        get<j>(sums) = seen > 0.0f ? math.moved<j>(own, about[j], math.about<j>(all), seen) : Op<j>::none();
      }
    });
    return sums;
  }
};

// Sees what the thread has of a chunk, `x`, of a row of so many columns. `held` must be prepared for level 0.
template <class X>
CG_DEVICE void see(Online& online, X const& x, Math const& math, Part const& part, int64_t chunk, int64_t columns, Held& held) {
  int count = 0;
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) count += part.has(chunk, u) ? VEC : 0;
  if (count == 0) return;
  Statistics lower = online.own;
  each_of<BOTH>(x, part, chunk, [&](auto const& v, int64_t col, int) { accumulate<0>(lower, v, col, math, lower, held); });
  const float seen = online.seen + float(count);
  const Statistics all = math.whole(lower, float(columns) * cg_rcp_approx(seen));
  Statistics sums = online.moved(math, all);
  math.prepare<1>(all, held);
  if constexpr (MERGES) {  // level 1 may be what is written
    each_of<BOTH>(x, part, chunk, [&](auto const& v, int64_t col, int) { accumulate<1>(sums, v, col, math, all, held); });
  }
  for_each(EachStat{}, [&](auto j) {
    if constexpr (MERGES && LEVEL[j] == 1) {
      get<j>(online.own) = get<j>(sums);
      online.about[j] = math.about<j>(all);
    } else {
      get<j>(online.own) = get<j>(lower);
    }
  });
  online.seen = seen;
}

// Statistics of both levels over all threads of the row: those of a part, where others have the rest of it.
CG_DEVICE void join_online(Statistics& r, Online const& online, Math const& math, Part const& part, float share,
                           Slots& slots, int rank) {
  join_row<0>(r, online.own, part, slots, 0, rank);
  const Statistics sums = online.moved(math, math.whole(r, share));
  join_row<1>(r, sums, part, slots, 0, rank);
}

}  // namespace

namespace {

struct Shared {
  Slots slots;
  alignas(8) uint64_t full[STAGES];
};

// Blocks of a multiprocessor at least: with rows that stay in L1 all of its threads, of 32 registers each.
constexpr int BESIDE = STAY == Stay::L1 ? 2048 / BLOCK : 1;

// In registers what the last level had of each element is held for the outputs, in place of the row itself.
constexpr bool RESUMES = RESUMABLE && ROW == Row::REGISTERS;

// step(x, chunk) for every chunk of the row, x what the thread has of it.
template <int P, class Kept, class Step>
CG_DEVICE void pass(Kept const& kept, Math const& math, Part const& part, unsigned char* stages, Shared& shared, Step const& step) {
  if constexpr (ROW == Row::REGISTERS) {
    step(chunk_of<P>(kept, math, part, 0), 0);
  } else {
    for (int64_t chunk = 0; chunk * CHUNK < part.length; ++chunk) {
      if constexpr (ROW == Row::SHARED) {
        wait_barrier(shared.full[chunk], 0);
        const auto near = load_stage<P>(part, chunk, stages + chunk * stage_bytes<STREAMS>());
        step(chunk_of<P>(near, math, part, chunk), chunk);
      } else {
        step(chunk_of<P>(kept, math, part, chunk), chunk);
      }
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK, BESIDE) cutegen_82f15bbaba5e19f8(
    bf16* t0, bf16* t1, bf16* t2, bf16* t3, bf16* t4, int64_t a0, int64_t /* a1 */, float s0) {
  [[maybe_unused]] constexpr int64_t a1 = 4096;
  extern __shared__ __align__(128) unsigned char stages[];  // [chunks of the slice, kept streams, CHUNK]
  __shared__ Shared shared;
  const int q = int(threadIdx.x) / THREADS, rank = CLUSTER > 1 ? int(block_rank_in_cluster()) : 0;
  const int64_t row = int64_t(blockIdx.x) / CLUSTER * ROWS + q, rows = a0;
  const bool live = ROWS == 1 || row < rows;
  const Part part = part_of(int(threadIdx.x) % THREADS, live ? a1 : 0, CLUSTER, rank);
  Math math{t0, t1, t2, t3, t4, a0, s0};
  math.seat(live ? row : 0);
  if constexpr (PDL) after_the_last_kernel();

  if constexpr (CLUSTER > 1) cluster_arrive_relaxed();
  if constexpr (ROW == Row::SHARED) {
    if (threadIdx.x == 0) {
      for (int i = 0; int64_t(i) * CHUNK < part.length; ++i) initialize_barrier(shared.full[i], 1);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      for (int64_t chunk = 0; chunk * CHUNK < part.length; ++chunk) {
        copy_chunk(math, part, chunk, stages + chunk * stage_bytes<STREAMS>(), shared.full[chunk],
                   l2_policy<Again::UNKNOWN>());
      }
    }
    __syncthreads();
  }
  const auto kept = [&] {
    if constexpr (ROW == Row::REGISTERS) return load<KeptStreams>(math, part, 0);
    else return Int<0>{};
  }();
  if constexpr (CLUSTER > 1) cluster_wait();

  Statistics r = no_statistics();
  Held held;
  if constexpr (ONLINE) {
    Online online;
    math.prepare<0>(r, held);
    pass<BOTH>(kept, math, part, stages, shared, [&](auto const& x, int64_t chunk) {
      see(online, x, math, part, chunk, a1, held);
    });
    join_online(r, online, math, part, 1.0f, shared.slots, rank);
  }
  [[maybe_unused]] float resumed[UNROLL][VEC];
  for_each(make_int_sequence<ONLINE ? 0 : LEVELS>{}, [&](auto p) {
    constexpr int P = p;
    Statistics sums = no_statistics();
    math.prepare<P>(r, held);
    pass<P>(kept, math, part, stages, shared, [&](auto const& x, int64_t chunk) {
      each_of<P>(x, part, chunk, [&](auto const& v, int64_t col, [[maybe_unused]] int u) {
        accumulate<P>(sums, v, col, math, r, held);
        if constexpr (RESUMES && P == LEVELS - 1) {
          CUTE_UNROLL
          for (int e = 0; e < VEC; ++e) resumed[u][e] = math.resumed(values<P>(v, e), r, held, col + e);
        }
      });
    });
    join_row<P>(r, sums, part, shared.slots, q, rank);
  });
  math.prepare<LEVELS>(r, held);
  if constexpr (SINKS > 0) {
    pass<LEVELS>(kept, math, part, stages, shared, [&](auto const& x, int64_t chunk) {
      each_of<LEVELS>(x, part, chunk, [&](auto const& v, int64_t col, [[maybe_unused]] int u) {
        if constexpr (RESUMES) {
          const auto outputs = [&](int e) { return math.resume(resumed[u][e], values<LEVELS>(v, e), r, held, col + e); };
          write_by(outputs, col, math);
        } else {
          write(v, col, math, r, held);
        }
      });
    });
  }
  if (part.tid == 0 && rank == 0 && live) math.finish(r, held);
}
