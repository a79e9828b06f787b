// elementwise e4t128: t2[v0:a0] = mul(silu(t0[v0:a0]), t1[v0:a0])
//
// Idea: the index space is rows of columns, cut into vectors of VEC columns; UNROLL * THREADS of them are a tile. A thread
// issues the loads of all tensors for all its vectors before it uses the first, so that an SM has tens of kilobytes in
// flight. What a vector needs of a tensor is one window of consecutive elements, in accesses of up to 16 bytes, or, where
// columns do not run through memory, an element a lane. Row and column come out of one number, by constants where extents
// are; a vector that crosses the end of its row goes element by element.
// Bound: HBM. Every byte is moved once, at 4.36 TB/s mixed (4.18 for one read and one write), plus 1.3 us to launch. The
// arithmetic must stay below about 13 instructions per 2 bytes moved.
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
// Values and storage of the elementwise and scan templates, behind the prelude. A value is a float, an int64_t or a
// bool; storage is any dtype of a byte or more. Windows are what a thread reads or writes of one tensor at once.
namespace {

struct f8e4m3 { unsigned char bits; };
struct f8e5m2 { unsigned char bits; };
struct bool8 { unsigned char bits; };

// ---------------------------------------------------------------- storage to values, exact

CG_DEVICE float to_value(float v) { return v; }
CG_DEVICE float to_value(double v) { return float(v); }
CG_DEVICE float to_value(bf16 v) { return __bfloat162float(v); }
CG_DEVICE float to_value(f16 v) { return __half2float(v); }
CG_DEVICE int64_t to_value(signed char v) { return v; }
CG_DEVICE int64_t to_value(unsigned char v) { return v; }
CG_DEVICE int64_t to_value(int v) { return v; }
CG_DEVICE int64_t to_value(long long v) { return v; }
CG_DEVICE bool to_value(bool8 v) { return v.bits != 0; }

// Two codes as halves: every 8-bit float is one.
CG_DEVICE uint32_t unpack_e4m3(uint16_t pair) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return halves;
}
CG_DEVICE uint32_t unpack_e5m2(uint16_t pair) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return halves;
}
CG_DEVICE float half_of(uint32_t halves, int which) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(halves >> (16 * which))));
}
CG_DEVICE float to_value(f8e4m3 v) { return half_of(unpack_e4m3(v.bits), 0); }
CG_DEVICE float to_value(f8e5m2 v) { return half_of(unpack_e5m2(v.bits), 0); }

// ---------------------------------------------------------------- values to storage: to nearest even, saturating

CG_DEVICE int64_t cg_clamp(int64_t x, int64_t least, int64_t most) { return x < least ? least : (x > most ? most : x); }
// Toward zero, NaN is 0: the conversion itself saturates at 32 bits.
CG_DEVICE int64_t cg_whole(float x, int least, int most) {
  const int whole = x != x ? 0 : __float2int_rz(x);
  return whole < least ? least : (whole > most ? most : whole);
}

CG_DEVICE int64_t cg_cast_i4(float x) { return cg_whole(x, -8, 7); }
CG_DEVICE int64_t cg_cast_i4(int64_t x) { return cg_clamp(x, -8, 7); }
CG_DEVICE int64_t cg_cast_u4(float x) { return cg_whole(x, 0, 15); }
CG_DEVICE int64_t cg_cast_u4(int64_t x) { return cg_clamp(x, 0, 15); }
CG_DEVICE int64_t cg_cast_i8(float x) { return cg_whole(x, -128, 127); }
CG_DEVICE int64_t cg_cast_i8(int64_t x) { return cg_clamp(x, -128, 127); }
CG_DEVICE int64_t cg_cast_u8(float x) { return cg_whole(x, 0, 255); }
CG_DEVICE int64_t cg_cast_u8(int64_t x) { return cg_clamp(x, 0, 255); }
CG_DEVICE int64_t cg_cast_i32(float x) { return x != x ? 0 : __float2int_rz(x); }
CG_DEVICE int64_t cg_cast_i32(int64_t x) { return cg_clamp(x, -2147483648ll, 2147483647ll); }
CG_DEVICE int64_t cg_cast_i64(float x) { return x != x ? 0 : __float2ll_rz(x); }
CG_DEVICE int64_t cg_cast_i64(int64_t x) { return x; }

CG_DEVICE uint16_t pack_e4m3(float low, float high) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}
CG_DEVICE uint16_t pack_e5m2(float low, float high) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}

CG_DEVICE void put(float& to, float v) { to = v; }
CG_DEVICE void put(double& to, float v) { to = v; }
CG_DEVICE void put(bf16& to, float v) { to = __float2bfloat16_rn(v); }
CG_DEVICE void put(f16& to, float v) { to = __float2half_rn(v); }
CG_DEVICE void put(f8e4m3& to, float v) { to.bits = static_cast<unsigned char>(pack_e4m3(v, 0.0f)); }
CG_DEVICE void put(f8e5m2& to, float v) { to.bits = static_cast<unsigned char>(pack_e5m2(v, 0.0f)); }
CG_DEVICE void put(signed char& to, int64_t v) { to = static_cast<signed char>(cg_cast_i8(v)); }
CG_DEVICE void put(unsigned char& to, int64_t v) { to = static_cast<unsigned char>(cg_cast_u8(v)); }
CG_DEVICE void put(int& to, int64_t v) { to = static_cast<int>(cg_cast_i32(v)); }
CG_DEVICE void put(long long& to, int64_t v) { to = v; }
CG_DEVICE void put(bool8& to, bool v) { to.bits = v ? 1 : 0; }

// Types that are converted two at a time, and the word that holds two.
template <class T>
struct Word { using type = void; };
template <>
struct Word<bf16> { using type = __nv_bfloat162; };
template <>
struct Word<f16> { using type = __half2; };
template <>
struct Word<f8e4m3> { using type = uint16_t; };
template <>
struct Word<f8e5m2> { using type = uint16_t; };
template <class T>
using WordOf = typename Word<T>::type;

template <class T>
CG_DEVICE void put_two(WordOf<T>& to, float low, float high) {
  if constexpr (cute::is_same_v<T, f8e4m3>) to = pack_e4m3(low, high);
  else if constexpr (cute::is_same_v<T, f8e5m2>) to = pack_e5m2(low, high);
  else from_f32x2(to, make_float2(low, high));
}

// ---------------------------------------------------------------- functions of values that the prelude has not

template <class T>
CG_DEVICE T cg_through(float x) {
  T stored;
  put(stored, x);
  return stored;
}
CG_DEVICE float cg_cast_f64(float x) { return x; }
CG_DEVICE float cg_cast_f32(float x) { return x; }
CG_DEVICE float cg_cast_f16(float x) { return to_value(cg_through<f16>(x)); }
CG_DEVICE float cg_cast_bf16(float x) { return to_value(cg_through<bf16>(x)); }
CG_DEVICE float cg_cast_f8e4m3(float x) { return to_value(cg_through<f8e4m3>(x)); }
CG_DEVICE float cg_cast_f8e5m2(float x) { return to_value(cg_through<f8e5m2>(x)); }

CG_DEVICE float cg_floor(float x) { return floorf(x); }
CG_DEVICE float cg_ceil(float x) { return ceilf(x); }
CG_DEVICE float cg_round(float x) { return rintf(x); }
CG_DEVICE float cg_pow(float x, float y) { return powf(x, y); }
CG_DEVICE float cg_sign(float x) { return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x); }

CG_DEVICE int64_t cg_max(int64_t a, int64_t b) { return a > b ? a : b; }
CG_DEVICE int64_t cg_min(int64_t a, int64_t b) { return a < b ? a : b; }
CG_DEVICE int64_t cg_abs(int64_t x) { return x < 0 ? -x : x; }
CG_DEVICE int64_t cg_sign(int64_t x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); }
CG_DEVICE int64_t cg_rem(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

template <class V>
CG_DEVICE bool cg_lt(V a, V b) { return a < b; }
template <class V>
CG_DEVICE bool cg_le(V a, V b) { return a <= b; }
template <class V>
CG_DEVICE bool cg_gt(V a, V b) { return a > b; }
template <class V>
CG_DEVICE bool cg_ge(V a, V b) { return a >= b; }
template <class V>
CG_DEVICE bool cg_eq(V a, V b) { return a == b; }
template <class V>
CG_DEVICE bool cg_ne(V a, V b) { return a != b; }
CG_DEVICE bool cg_and(bool a, bool b) { return a && b; }
CG_DEVICE bool cg_or(bool a, bool b) { return a || b; }
CG_DEVICE bool cg_not(bool a) { return !a; }

// ---------------------------------------------------------------- indices

// Integer holds every index and address of every shape that the spec allows.
using Integer = int32_t;
using Natural = cute::conditional_t<sizeof(Integer) == 4, uint32_t, uint64_t>;

// Of operands that are never negative: a shift or a multiplication where the divisor is a constant.
CG_DEVICE Integer quotient(Integer a, Integer b) { return Integer(Natural(a) / Natural(b)); }
CG_DEVICE Integer remainder(Integer a, Integer b) { return Integer(Natural(a) % Natural(b)); }
CG_DEVICE Integer floor_quotient(Integer a, Integer b) { return a / b - (a % b < 0 ? 1 : 0); }
CG_DEVICE Integer floor_remainder(Integer a, Integer b) { return a % b < 0 ? a % b + b : a % b; }
CG_DEVICE Integer least(Integer a, Integer b) { return a < b ? a : b; }
CG_DEVICE Integer most(Integer a, Integer b) { return a > b ? a : b; }

// ---------------------------------------------------------------- copies

enum class Load { CACHED, ONCE, FIRST };
enum class Store { CACHED, STREAMING };

// One access of S bytes, past L1: for data that is used once; FIRST: and the first to leave L2. 16 bytes come as two words
// of 8. Where they are four of 4, ptxas 13.0 moves the loads of further vectors behind the operations on the first, for
// fewer registers, and they are not in flight together.
template <class S, Load HOW>
struct LoadHinted {
  using SRegisters = S const[1];
  using DRegisters = S[1];
  __device__ static void copy(S const& src, S& dst) {
    static_assert(sizeof(S) == 4 || sizeof(S) == 8 || sizeof(S) == 16);
    uint64_t policy = 0;
    if constexpr (HOW == Load::FIRST) asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    if constexpr (sizeof(S) == 16) {
      ulonglong2& d = reinterpret_cast<ulonglong2&>(dst);
      if constexpr (HOW == Load::FIRST) {
        asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v2.u64 {%0, %1}, [%2], %3;"
                     : "=l"(d.x), "=l"(d.y) : "l"(&src), "l"(policy));
      } else {
        asm volatile("ld.global.L1::no_allocate.L2::128B.v2.u64 {%0, %1}, [%2];" : "=l"(d.x), "=l"(d.y) : "l"(&src));
      }
    } else if constexpr (sizeof(S) == 8) {
      uint64_t& d = reinterpret_cast<uint64_t&>(dst);
      if constexpr (HOW == Load::FIRST) {
        asm volatile("ld.global.L1::no_allocate.L2::cache_hint.u64 %0, [%1], %2;" : "=l"(d) : "l"(&src), "l"(policy));
      } else {
        asm volatile("ld.global.L1::no_allocate.L2::128B.u64 %0, [%1];" : "=l"(d) : "l"(&src));
      }
    } else {
      uint32_t& d = reinterpret_cast<uint32_t&>(dst);
      if constexpr (HOW == Load::FIRST) {
        asm volatile("ld.global.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(d) : "l"(&src), "l"(policy));
      } else {
        asm volatile("ld.global.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(d) : "l"(&src));
      }
    }
  }
};

}  // namespace

template <class S, Load HOW>
struct cute::Copy_Traits<LoadHinted<S, HOW>> : OneThread<S> {};

namespace {

// SIZE consecutive elements in registers, moved ACCESS at a time. The hints are for accesses of 4 bytes and more.
template <class T, int SIZE, int ACCESS>
struct Window {
  static_assert(SIZE % ACCESS == 0 && ACCESS * sizeof(T) <= 16, "whole accesses of at most 16 bytes");
  using Unit = cute::uint_bit_t<ACCESS * int(sizeof(T)) * 8>;
  using Shape = cute::Shape<cute::Int<ACCESS>, cute::Int<SIZE / ACCESS>>;
  static constexpr bool HINTS = sizeof(Unit) >= 4;

  decltype(cute::make_tensor<T>(cute::make_layout(Shape{}))) rX;  // (ACCESS, SIZE / ACCESS)

  template <class P>
  CG_DEVICE static auto in_memory(P* at) {  // gX: (ACCESS, SIZE / ACCESS)
    return cute::make_tensor(cute::make_gmem_ptr(at), cute::make_layout(Shape{}));
  }

  template <Load HOW>
  CG_DEVICE void load(T const* from) {
    using namespace cute;
    if constexpr (HOW != Load::CACHED && HINTS) copy_by(LoadHinted<Unit, HOW>{}, in_memory(from), rX);
    else copy_by(UniversalCopy<Unit>{}, in_memory(from), rX);
  }

  template <Store HOW>
  CG_DEVICE void store(T* to) const {
    using namespace cute;
    if constexpr (HOW == Store::STREAMING && HINTS) copy_by(StoreStreaming<Unit>{}, rX, in_memory(to));
    else copy_by(UniversalCopy<Unit>{}, rX, in_memory(to));
  }

  // The value of element k, a constant once loops are unrolled; 8-bit floats are converted two at a time.
  CG_DEVICE auto value(int k) const {
    if constexpr (SIZE % 2 == 0 && cute::is_same_v<T, f8e4m3>) {
      return half_of(unpack_e4m3(cute::recast<uint16_t>(rX)(k / 2)), k % 2);
    } else if constexpr (SIZE % 2 == 0 && cute::is_same_v<T, f8e5m2>) {
      return half_of(unpack_e5m2(cute::recast<uint16_t>(rX)(k / 2)), k % 2);
    } else {
      return to_value(rX(k));
    }
  }

  // Element k becomes `values(k)`.
  template <class Values>
  CG_DEVICE void fill(Values const& values) {
    if constexpr (SIZE % 2 == 0 && !cute::is_same_v<WordOf<T>, void>) {
      auto words = cute::recast<WordOf<T>>(rX);
      CUTE_UNROLL
      for (int k = 0; k < SIZE / 2; ++k) put_two<T>(words(k), values(2 * k), values(2 * k + 1));
    } else {
      CUTE_UNROLL
      for (int k = 0; k < SIZE; ++k) put(rX(k), values(k));
    }
  }
};

}  // namespace

namespace {

using namespace cute;

// ---------------------------------------------------------------- configuration

constexpr int VEC = 1;
constexpr int UNROLL = 4;
constexpr int THREADS = 128;
[[maybe_unused]] constexpr Load LOAD = Load::CACHED;
[[maybe_unused]] constexpr Store STORE = Store::CACHED;
constexpr bool PDL = false;

constexpr Integer TILE = THREADS * UNROLL;  // vectors of a tile

static_assert(VEC >= 1 && VEC <= 64, "lanes of a vector stay in registers");
static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps");
static_assert(UNROLL >= 1 && UNROLL <= 16, "fragments stay in registers");

// ---------------------------------------------------------------- the math

}  // namespace

struct Problem {
  bf16 const* t0;
  bf16 const* t1;
  bf16* t2;
  Integer a0;

  CG_DEVICE Integer rows() const { return 1; }
  CG_DEVICE Integer columns() const { return a0; }

  // Loop variables, and the place of a vector (or an element) in its row.
  struct At { Integer q; };
  struct Values { float x0; float x1; };
  struct Results { float y0; };
  struct Vector {
    Window<bf16, 1, 1> w0;  // g: (1, 1)
    Window<bf16, 1, 1> w1;  // u: (1, 1)
  };
  struct Element { bf16 x0; bf16 x1; };

  CG_DEVICE At at([[maybe_unused]] Integer row, Integer q) const {
    At at;
    at.q = q;
    return at;
  }
  CG_DEVICE static At lane(At at, int j) {
    at.q = at.q * VEC + j;
    return at;
  }
  CG_DEVICE auto address0([[maybe_unused]] At const& at) const { return t0 + at.q; }
  CG_DEVICE auto address1([[maybe_unused]] At const& at) const { return t1 + at.q; }

  CG_DEVICE void load([[maybe_unused]] Vector& r, [[maybe_unused]] At const& at) const {
    r.w0.template load<LOAD>(t0 + at.q);
    r.w1.template load<LOAD>(t1 + at.q);
  }
  CG_DEVICE void load([[maybe_unused]] Element& r, [[maybe_unused]] At const& at) const {
    r.x0 = *address0(at);
    r.x1 = *address1(at);
  }
  CG_DEVICE Values values([[maybe_unused]] Vector const& r, [[maybe_unused]] At const& at, [[maybe_unused]] int j) const {
    Values x;
    x.x0 = r.w0.value(0);
    x.x1 = r.w1.value(0);
    return x;
  }
  CG_DEVICE Values values([[maybe_unused]] Element const& r, [[maybe_unused]] At const& at) const {
    Values x;
    x.x0 = to_value(r.x0);
    x.x1 = to_value(r.x1);
    return x;
  }

  CG_DEVICE Results results([[maybe_unused]] Values const& x) const {
    Results y;
    y.y0 = (cg_silu(x.x0) * x.x1);
    return y;
  }

  CG_DEVICE void store(Results const (&y)[VEC], At const& at) const {
    Window<bf16, 1, 1> w0;  // y: (1, 1)
    w0.fill([&](int j) { return y[j].y0; });
    w0.template store<STORE>(t2 + at.q);
  }
  CG_DEVICE void store(Results const& y, At const& at) const {
    put(t2[at.q], y.y0);
  }
};

namespace {

// ---------------------------------------------------------------- tiles

CG_DEVICE void element(Problem const& p, Problem::At const& at) {
  Problem::Element loaded;
  p.load(loaded, at);
  p.store(p.results(p.values(loaded, at)), at);
}

// A vector that crosses the end of its row. One after the other: this is rare, and the registers are not.
CG_DEVICE void rest_of_row(Problem const& p, Problem::At const& at) {
  CUTE_NO_UNROLL
  for (int j = 0; j < VEC; ++j) {
    const auto one = Problem::lane(at, j);
    if (one.q < p.columns()) element(p, one);
  }
}

CG_DEVICE void compute_and_store(Problem const& p, Problem::Vector const& loaded, Problem::At const& at) {
  Problem::Results results[VEC];
  CUTE_UNROLL
  for (int j = 0; j < VEC; ++j) results[j] = p.results(p.values(loaded, at, j));
  p.store(results, at);
}

// The tile whose first vector is `first`. WHOLE: all its vectors are there, and whole.
template <bool WHOLE>
CG_DEVICE void tile_of(Problem const& p, Integer first, Integer per_row, Integer vectors) {
  Problem::Vector loaded[UNROLL];
  Problem::At at[UNROLL];
  const auto vector = [&](int u) { return first + Integer(u * THREADS) + Integer(threadIdx.x); };
  const auto whole = [&](int u, Problem::At const& at) {
    return WHOLE || (vector(u) < vectors && (at.q + 1) * VEC <= p.columns());
  };
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    at[u] = p.rows() == 1 ? p.at(0, vector(u)) : p.at(quotient(vector(u), per_row), remainder(vector(u), per_row));
    if (whole(u, at[u])) p.load(loaded[u], at[u]);
  }
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    if (whole(u, at[u])) compute_and_store(p, loaded[u], at[u]);
    else if (vector(u) < vectors && p.rows() > 1) rest_of_row(p, at[u]);
  }
  // of a single row, a thread each
  const Integer column = p.columns() - remainder(p.columns(), VEC) + Integer(threadIdx.x);
  if (!WHOLE && p.rows() == 1 && column < p.columns()) element(p, p.at(0, column));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS) cutegen_de5360f01778827b(
    bf16 const* t0, bf16 const* t1, bf16* t2, int64_t a0) {
  if constexpr (PDL) after_the_last_kernel();
  const Problem p{t0, t1, t2, Integer(a0)};
  const Integer per_row = quotient(p.columns() + (VEC - 1), VEC), vectors = p.rows() * per_row;
  const Integer tiles = quotient(vectors + (TILE - 1), TILE);
  // vectors before the first that may cross the end of a row
  const Integer whole = remainder(p.columns(), VEC) == 0 ? vectors : (p.rows() == 1 ? vectors - 1 : 0);
  for (Integer tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if ((tile + 1) * TILE <= whole) tile_of<true>(p, tile * TILE, per_row, vectors);
    else tile_of<false>(p, tile * TILE, per_row, vectors);
  }
}
