// product t128x64x64s4w4x2x1e: t3[v0:a0, v1:a1] = add(sum(v2:a2, mul(t0[v0:a0, v2:a2], t1[v1:a1, v2:a2])), t2[v0:a0, v1:a1])
//
// Idea: a ring of STAGES tiles of both operands in shared memory, filled by cp.async; warps read fragments by ldmatrix one step
// of k ahead of the mma.sync that takes them. Which operand has the 16 rows of the instruction is SWAP's choice: the weights,
// where there are few tokens. Warps share k where a tile has too few fragments for all of them. Finished tiles pass through
// shared memory, so that the epilogue sees vectors of consecutive columns.
// Bound: few rows: reading the weights once, less what a ring of 60 to 100 KB leaves idle as it starts and ends. Many rows: the
// rate of mma.sync, 0.6 of what wgmma reaches on Hopper, and all there is elsewhere. Where tiles of y are too few for all
// multiprocessors, SPLITS blocks share the k of a tile, and the last of them to arrive adds their parts in order.
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

#include <cute/arch/copy_sm80.hpp>
#include <cute/arch/mma_sm80.hpp>
#include <cute/swizzle.hpp>

namespace {

using namespace cute;

// ---------------------------------------------------------------- configuration

using T = bf16;
using Mma = SM80_16x8x16_F32BF16BF16F32_TN;
[[maybe_unused]] constexpr int PRODUCTS = 1;
[[maybe_unused]] constexpr int BM = 128;
[[maybe_unused]] constexpr int BN = 64;
[[maybe_unused]] constexpr int BK = 64;
[[maybe_unused]] constexpr int STAGES = 4;
[[maybe_unused]] constexpr int WARPS_R = 4;
[[maybe_unused]] constexpr int WARPS_C = 2;
[[maybe_unused]] constexpr int WARPS_K = 1;
[[maybe_unused]] constexpr int GROUP = 8;
[[maybe_unused]] constexpr int SMEM = 98304;
[[maybe_unused]] constexpr int SPLITS = 1;
[[maybe_unused]] constexpr int A_ACCESS = 2;
[[maybe_unused]] constexpr int B_ACCESS = 2;
[[maybe_unused]] constexpr int VEC = 1;
[[maybe_unused]] constexpr bool SWAP = false;
[[maybe_unused]] constexpr bool A_K_MAJOR = true;
[[maybe_unused]] constexpr bool B_K_MAJOR = true;
[[maybe_unused]] constexpr bool A_STREAMED = false;
[[maybe_unused]] constexpr bool B_STREAMED = false;
[[maybe_unused]] constexpr bool A_AHEAD = false;
[[maybe_unused]] constexpr bool B_AHEAD = true;
[[maybe_unused]] constexpr bool PDL = false;
[[maybe_unused]] constexpr Load LOAD = Load::CACHED;
[[maybe_unused]] constexpr Store STORE = Store::CACHED;

constexpr int BR = SWAP ? BN : BM, BC = SWAP ? BM : BN;  // tile along the 16 and the 8 of the instruction
constexpr int THREADS = 32 * WARPS_R * WARPS_C * WARPS_K;
constexpr int MMA_R = BR / WARPS_R / 16, MMA_C = BC / WARPS_C / 8, MMA_K = BK / 16 / WARPS_K;  // instructions of a warp
constexpr int OF_R = SWAP ? PRODUCTS : 1, OF_C = SWAP ? 1 : PRODUCTS;                          // tensors on either side

static_assert(MMA_R * WARPS_R * 16 == BR && MMA_C * WARPS_C * 8 == BC && MMA_K * WARPS_K * 16 == BK, "whole instructions");
static_assert(STAGES >= 3, "one stage is read, one has arrived, one is on its way");

// An operand in memory: element (row, k) at base[row * row_stride + k * k_stride].     (ROWS, K)
template <class RowStride, class KStride>
struct Source {
  T const* base;
  RowStride row_stride;
  KStride k_stride;
  Integer rows, k;
};
template <class RowStride, class KStride>
CG_DEVICE Source<RowStride, KStride> source(T const* base, RowStride row_stride, KStride k_stride, Integer rows, Integer k) {
  return {base, row_stride, k_stride, rows, k};
}

// ---------------------------------------------------------------- the math

}  // namespace

struct Problem {
  bf16 const* t0;
  bf16 const* t1;
  bf16 const* t2;
  bf16* t3;
  Integer a0;
  static constexpr Integer a1 = 4096;
  static constexpr Integer a2 = 14336;

  CG_DEVICE Integer rows() const { return a0; }
  CG_DEVICE Integer columns() const { return a1; }

  // Loop variables, and the place of a vector (or an element) in its row.
  struct At { Integer v0; Integer q; };
  struct Values { float x0; };
  struct Results { float y0; };
  struct Vector {
    Window<bf16, 1, 1> w0;  // s: (1, 1)
  };
  struct Element { bf16 x0; };

  CG_DEVICE At at([[maybe_unused]] Integer row, Integer q) const {
    At at;
    at.q = q;
    at.v0 = row;
    return at;
  }
  CG_DEVICE static At lane(At at, int j) {
    at.q = at.q * VEC + j;
    return at;
  }
  CG_DEVICE auto address0([[maybe_unused]] At const& at) const { return t2 + (at.q + at.v0 * 4096); }

  CG_DEVICE void load([[maybe_unused]] Vector& r, [[maybe_unused]] At const& at) const {
    r.w0.template load<LOAD>(t2 + (at.q + at.v0 * 4096));
  }
  CG_DEVICE void load([[maybe_unused]] Element& r, [[maybe_unused]] At const& at) const {
    r.x0 = *address0(at);
  }
  CG_DEVICE Values values([[maybe_unused]] Vector const& r, [[maybe_unused]] At const& at, [[maybe_unused]] int j) const {
    Values x;
    x.x0 = r.w0.value(0);
    return x;
  }
  CG_DEVICE Values values([[maybe_unused]] Element const& r, [[maybe_unused]] At const& at) const {
    Values x;
    x.x0 = to_value(r.x0);
    return x;
  }

  CG_DEVICE Results results([[maybe_unused]] Values const& x, float acc0) const {
    Results y;
    y.y0 = (acc0 + x.x0);
    return y;
  }

  CG_DEVICE void store(Results const (&y)[VEC], At const& at) const {
    Window<bf16, 1, 1> w0;  // z: (1, 1)
    w0.fill([&](int j) { return y[j].y0; });
    w0.template store<STORE>(t3 + (at.q + at.v0 * 4096));
  }
  CG_DEVICE void store(Results const& y, At const& at) const {
    put(t3[(at.q + at.v0 * 4096)], y.y0);
  }
  CG_DEVICE Integer m() const { return a0; }
  CG_DEVICE Integer k() const { return a2; }
  template <class Sums>
  CG_DEVICE Results results(Values const& x, Sums const& sums, int j) const { return results(x, sums.v[0][j]); }
  CG_DEVICE auto a([[maybe_unused]] Integer batch) const {
    return source(t0 + (0), cute::Int<14336>{}, cute::Int<1>{}, Integer(a0), k());
  }
  CG_DEVICE auto b0([[maybe_unused]] Integer batch) const {
    return source(t1 + (0), cute::Int<14336>{}, cute::Int<1>{}, Integer(a1), k());
  }
};

namespace {

#define CG_TILES CG_DEVICE
// Which tile and which part of k a block has: plain constexpr C++, which is tested on the host.
struct TileCoord {
  int64_t batch;
  int m, n;  // tiles
};

// The tile of a number. GROUP tiles of rows take one tile of columns after the other, so that blocks which run at once read
// few distinct tiles of both operands.
CG_TILES constexpr TileCoord tile_coord(int64_t number, int tiles_m, int tiles_n) {
  const int64_t of_batch = int64_t(tiles_m) * tiles_n, in_batch = number % of_batch, in_group = int64_t(GROUP) * tiles_n;
  const int first = int(in_batch / in_group) * GROUP;
  const int rows = tiles_m - first < GROUP ? tiles_m - first : GROUP;
  return TileCoord{number / of_batch, first + int(in_batch % in_group % rows), int(in_batch % in_group / rows)};
}

// Tiles [begin, end) of k of one of `splits` parts; none where there are more parts than tiles.
struct Range {
  int begin, end;
};
CG_TILES constexpr Range split_range(int tiles_k, int split, int splits) {
  return Range{int(int64_t(tiles_k) * split / splits), int(int64_t(tiles_k) * (split + 1) / splits)};
}

// ---------------------------------------------------------------- operands

// A tile of ROWS by BK in shared memory: lines of BK where k is contiguous, else lines of ROWS, one for each k; in blocks of at
// most 64 columns, 16-byte pieces swizzled so that ldmatrix has no bank conflicts.
template <bool IS_K_MAJOR, int ROWS>
struct SmemTile {
  static constexpr bool K_MAJOR = IS_K_MAJOR;
  static constexpr int LINES = K_MAJOR ? ROWS : BK, COLUMNS = K_MAJOR ? BK : ROWS;
  static constexpr int PIECES = COLUMNS % 64 == 0 ? 8 : COLUMNS % 32 == 0 ? 4 : COLUMNS % 16 == 0 ? 2 : 1;  // of a line, in a block
  static constexpr int WIDTH = PIECES * 8, BLOCKS = COLUMNS / WIDTH, BYTES = ROWS * BK * 2;
  using Atom = Swizzle<PIECES == 8 ? 3 : PIECES == 4 ? 2 : PIECES == 2 ? 1 : 0, 3, 3>;
  static_assert(BLOCKS * WIDTH == COLUMNS, "whole pieces");

  // Byte of an element: (LINES, (WIDTH, BLOCKS)) : (WIDTH, (1, LINES * WIDTH)), swizzled.
  CG_DEVICE static uint32_t of(int line, int column) {
    return 2 * uint32_t(column / WIDTH * (LINES * WIDTH) + Atom::apply(line * WIDTH + column % WIDTH));
  }
  CG_DEVICE static uint32_t at(int row, int k) { return K_MAJOR ? of(row, k) : of(k, row); }
};

CG_DEVICE uint64_t evict_first() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
// One copy of BYTES, or zeros.
template <int BYTES, bool STREAMED>
CG_DEVICE void copy_async(uint32_t to, T const* from, bool in, uint64_t policy) {
  const int bytes = in ? BYTES : 0;
  if constexpr (BYTES == 16 && STREAMED) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(bytes), "l"(policy) : "memory");
  } else if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES), "r"(bytes) : "memory");
  }
}

// What a thread copies of each tile: the same pieces of every one. ACCESS: bytes of a copy; of 2, elements pass through
// registers, and are put into shared memory by `put`.
template <class Tile, int ROWS, int ACCESS, bool STREAMED, class Source>
struct Loader {
  static constexpr int STEP = THREADS / Tile::PIECES, PASSES = (Tile::LINES + STEP - 1) / STEP;
  static constexpr int EACH = ACCESS / 2;  // elements of a copy
  static constexpr bool STAGED = ACCESS == 2;
  Source from;
  Integer row0;
  uint64_t policy;
  uint4 held[STAGED ? Tile::BLOCKS * PASSES : 1];

  CG_DEVICE Loader(Source const& source, Integer first_row) : from(source), row0(first_row), policy(STREAMED ? evict_first() : 0) {}

  CG_DEVICE bool is_in(Integer row, Integer k) const { return row < from.rows && k < from.k; }
  CG_DEVICE T const* address(Integer row, Integer k) const {
    return from.base + int64_t(row) * from.row_stride + int64_t(k) * from.k_stride;
  }
  CG_DEVICE uint4 gather(Integer row, Integer k) const {
    uint32_t word[4];
    CUTE_UNROLL
    for (int e = 0; e < 8; ++e) {
      const Integer r = Tile::K_MAJOR ? row : row + e, kk = Tile::K_MAJOR ? k + e : k;
      const uint32_t half = is_in(r, kk) ? uint32_t(*reinterpret_cast<uint16_t const*>(address(r, kk))) : 0u;
      word[e / 2] = e % 2 == 0 ? half : word[e / 2] | half << 16;
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
  }
  // body(line, first column, number) for each of this thread's pieces.
  template <class Body>
  CG_DEVICE static void each(Body const& body) {
    const int column = int(threadIdx.x) % Tile::PIECES * 8, line = int(threadIdx.x) / Tile::PIECES;
    CUTE_UNROLL
    for (int b = 0; b < Tile::BLOCKS; ++b) {
      CUTE_UNROLL
      for (int i = 0; i < PASSES; ++i) {
        if (Tile::LINES % STEP != 0 && line + i * STEP >= Tile::LINES) break;
        body(line + i * STEP, b * Tile::WIDTH + column, b * PASSES + i);
      }
    }
  }
  // Asks for the tile of k that begins at `k0`.
  CG_DEVICE void fetch(uint32_t tile, Integer k0) {
    each([&](int line, int column, int number) {
      const Integer row = row0 + (Tile::K_MAJOR ? line : column), k = k0 + (Tile::K_MAJOR ? column : line);
      if constexpr (STAGED) {
        held[number] = gather(row, k);
      } else {
        CUTE_UNROLL
        for (int e = 0; e < 8; e += EACH) {
          const Integer r = Tile::K_MAJOR ? row : row + e, kk = Tile::K_MAJOR ? k + e : k;
          const bool in = is_in(r, kk);
          copy_async<ACCESS, STREAMED>(tile + Tile::of(line, column) + e * 2, in ? address(r, kk) : from.base, in, policy);
        }
      }
    });
  }
  CG_DEVICE void put(uint32_t tile) {
    if constexpr (STAGED) {
      each([&](int line, int column, int number) {
        uint4 const& v = held[number];
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(tile + Tile::of(line, column)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
      });
    }
  }
};

CG_DEVICE void ldmatrix(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");
}
CG_DEVICE void ldmatrix(uint32_t& a, uint32_t& b, uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(from) : "memory");
}
CG_DEVICE void ldmatrix_trans(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");
}
CG_DEVICE void ldmatrix_trans(uint32_t& a, uint32_t& b, uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(from) : "memory");
}

// ---------------------------------------------------------------- epilogue

// Accumulators of a warp.     (MMA, MMA_R, MMA_C) of each product
struct Accumulators {
  float d[PRODUCTS][MMA_R][MMA_C][4];
};

// Rows of y that a pass of the epilogue takes: fragments of 16 rows, or of 8 where the columns of the instruction are rows of y.
constexpr int FRAGMENT_ROWS = SWAP ? 8 : 16, ROW_WARPS = SWAP ? WARPS_C : WARPS_R, ROW_FRAGMENTS = SWAP ? MMA_C : MMA_R;
constexpr int LINE = BN + (SWAP ? 4 : 8);  // floats of a row in shared memory, without bank conflicts
constexpr int pass_bytes(int fragments) { return PRODUCTS * WARPS_K * ROW_WARPS * fragments * FRAGMENT_ROWS * LINE * 4; }
constexpr int pass_fragments(int most) {
  int found = 1;
  for (int f = 1; f <= ROW_FRAGMENTS; ++f) {
    if (ROW_FRAGMENTS % f == 0 && pass_bytes(f) <= most) found = f;
  }
  return found;
}
constexpr int PASS = pass_fragments(SMEM), PASS_ROWS = ROW_WARPS * PASS * FRAGMENT_ROWS, PASSES = ROW_FRAGMENTS / PASS;
static_assert(pass_bytes(PASS) <= SMEM, "a pass fits");
static_assert(BN % VEC == 0, "whole vectors");

// The sums of a pass in shared memory.     (PASS_ROWS, BN, WARPS_K, PRODUCTS) : (LINE, 1, ...)
CG_DEVICE float* sum_at(float* smem, int row, int column, int plane, int product) {
  return smem + ((product * WARPS_K + plane) * PASS_ROWS + row) * LINE + column;
}
// The row of the tile that a row of a pass is.
CG_DEVICE int tile_row(int row, int pass) {
  constexpr int OF_WARP = PASS * FRAGMENT_ROWS;
  return row / OF_WARP * (ROW_FRAGMENTS * FRAGMENT_ROWS) + pass * OF_WARP + row % OF_WARP;
}

// What a warp has of the rows of a pass, to shared memory.
CG_DEVICE void spill_pass(float* smem, Accumulators const& accum, int pass, int warp, int lane) {
  const int wr = warp % WARPS_R, wc = warp / WARPS_R % WARPS_C, plane = warp / (WARPS_R * WARPS_C);
  CUTE_UNROLL
  for (int p = 0; p < PRODUCTS; ++p) {
    CUTE_UNROLL
    for (int i = 0; i < MMA_R; ++i) {
      CUTE_UNROLL
      for (int j = 0; j < MMA_C; ++j) {
        if ((SWAP ? j : i) / PASS != pass) continue;
        float const(&d)[4] = accum.d[p][i][j];
        if constexpr (SWAP) {
          const int row = (wc * PASS + j % PASS) * 8 + lane % 4 * 2, column = (wr * MMA_R + i) * 16 + lane / 4;
          CUTE_UNROLL
          for (int v = 0; v < 4; ++v) *sum_at(smem, row + v % 2, column + v / 2 * 8, plane, p) = d[v];
        } else {
          const int row = (wr * PASS + i % PASS) * 16 + lane / 4, column = (wc * MMA_C + j) * 8 + lane % 4 * 2;
          *reinterpret_cast<float2*>(sum_at(smem, row, column, plane, p)) = make_float2(d[0], d[1]);
          *reinterpret_cast<float2*>(sum_at(smem, row + 8, column, plane, p)) = make_float2(d[2], d[3]);
        }
      }
    }
  }
}

// Sums of VEC consecutive columns, planes added in order.
struct Sums {
  using Part = conditional_t<VEC % 4 == 0, float4, float>;
  static constexpr int WIDTH = int(sizeof(Part) / sizeof(float));
  alignas(16) float v[PRODUCTS][VEC];
  CG_DEVICE static void load(float (&to)[VEC], float const* from) {
    CUTE_UNROLL
    for (int j = 0; j < VEC; j += WIDTH) *reinterpret_cast<Part*>(to + j) = *reinterpret_cast<Part const*>(from + j);
  }
  CG_DEVICE static Sums of(float* smem, int row, int column) {
    Sums sums;
    CUTE_UNROLL
    for (int p = 0; p < PRODUCTS; ++p) {
      CUTE_UNROLL
      for (int plane = 0; plane < WARPS_K; ++plane) {
        alignas(16) float v[VEC];
        load(v, sum_at(smem, row, column, plane, p));
        CUTE_UNROLL
        for (int j = 0; j < VEC; ++j) sums.v[p][j] = plane == 0 ? v[j] : sums.v[p][j] + v[j];
      }
    }
    return sums;
  }
};

// A vector of y, by element where it crosses the end of its row.
CG_DEVICE void store_vector(Problem const& p, Sums const& sums, Integer row, Integer column) {
  const Problem::At at = p.at(row, quotient(column, VEC));
  if (column + VEC <= p.columns()) {
    Problem::Vector loaded;
    p.load(loaded, at);
    Problem::Results results[VEC];
    CUTE_UNROLL
    for (int j = 0; j < VEC; ++j) results[j] = p.results(p.values(loaded, at, j), sums, j);
    p.store(results, at);
    return;
  }
  CUTE_UNROLL
  for (int j = 0; j < VEC; ++j) {
    const Problem::At one = Problem::lane(at, j);
    if (column + j >= p.columns()) break;
    Problem::Element element;
    p.load(element, one);
    p.store(p.results(p.values(element, one), sums, j), one);
  }
}

// A tile of y: its number, its batch, and where it begins.
struct OutputTile {
  int64_t number;
  Integer batch, m0, n0;
};

// body(row of the tile, first column, sums) for each vector of the tile that begins inside y. Shared memory is free.
template <class Body>
CG_DEVICE void each_vector(Problem const& p, float* smem, Accumulators const& accum, OutputTile const& tile, Body const& body) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  constexpr int VECTORS = BN / VEC;
  CUTE_NO_UNROLL
  for (int pass = 0; pass < PASSES; ++pass) {
    if (pass > 0) __syncthreads();
    spill_pass(smem, accum, pass, warp, lane);
    __syncthreads();
    CUTE_NO_UNROLL
    for (int vector = int(threadIdx.x); vector < PASS_ROWS * VECTORS; vector += THREADS) {
      const int row = vector / VECTORS, column = vector % VECTORS * VEC, of_tile = tile_row(row, pass);
      if (tile.m0 + of_tile < p.m() && tile.n0 + column < p.columns()) body(of_tile, column, Sums::of(smem, row, column));
    }
  }
}

CG_DEVICE void store_in(Problem const& p, OutputTile const& tile, int row, int column, Sums const& sums) {
  store_vector(p, sums, tile.batch * p.m() + tile.m0 + row, tile.n0 + column);
}

// Accumulators become y.
CG_DEVICE void epilogue(Problem const& p, float* smem, Accumulators const& accum, OutputTile const& tile) {
  each_vector(p, smem, accum, tile, [&](int row, int column, Sums const& sums) { store_in(p, tile, row, column, sums); });
}

// ---------------------------------------------------------------- parts of k

// Partial sums of a tile in workspace.     (BN, BM, PRODUCTS, SPLITS)
CG_DEVICE float* partial_at(float* partials, OutputTile const& tile, int split, int product, int row, int column) {
  return partials + ((tile.number * SPLITS + split) * PRODUCTS + product) * (BM * BN) + row * BN + column;
}

// The sums of all parts, in their order: equal in every bit, whichever came last.
CG_DEVICE Sums total_of(float* partials, OutputTile const& tile, int row, int column) {
  Sums total;
  CUTE_UNROLL
  for (int p = 0; p < PRODUCTS; ++p) {
    CUTE_UNROLL
    for (int split = 0; split < SPLITS; ++split) {
      alignas(16) float v[VEC];
      float const* const from = partial_at(partials, tile, split, p, row, column);
      CUTE_UNROLL
      for (int j = 0; j < VEC; j += Sums::WIDTH) *reinterpret_cast<Sums::Part*>(v + j) = __ldcg(reinterpret_cast<Sums::Part const*>(from + j));
      CUTE_UNROLL
      for (int j = 0; j < VEC; ++j) total.v[p][j] = split == 0 ? v[j] : total.v[p][j] + v[j];
    }
  }
  return total;
}

// Publishes this block's part; the block that comes last adds all of them and writes y. `arrived`: zero before and after.
CG_DEVICE void split_epilogue(Problem const& p, float* smem, Accumulators const& accum, OutputTile const& tile, int split, float* partials, int* arrived) {
  each_vector(p, smem, accum, tile, [&](int row, int column, Sums const& sums) {
    CUTE_UNROLL
    for (int product = 0; product < PRODUCTS; ++product) {
      float* const to = partial_at(partials, tile, split, product, row, column);
      CUTE_UNROLL
      for (int j = 0; j < VEC; j += Sums::WIDTH) *reinterpret_cast<Sums::Part*>(to + j) = *reinterpret_cast<Sums::Part const*>(&sums.v[product][j]);
    }
  });
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(arrived + tile.number, 1) == SPLITS - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  constexpr int VECTORS = BN / VEC;
  CUTE_NO_UNROLL
  for (int vector = int(threadIdx.x); vector < BM * VECTORS; vector += THREADS) {
    const int row = vector / VECTORS, column = vector % VECTORS * VEC;
    if (tile.m0 + row < p.m() && tile.n0 + column < p.columns()) store_in(p, tile, row, column, total_of(partials, tile, row, column));
  }
  if (threadIdx.x == 0) arrived[tile.number] = 0;
}

// ---------------------------------------------------------------- main loop

using TileA = SmemTile<A_K_MAJOR, BM>;
using TileB = SmemTile<B_K_MAJOR, BN>;
constexpr int STAGE_BYTES = TileA::BYTES + PRODUCTS * TileB::BYTES;
static_assert(STAGES * STAGE_BYTES <= SMEM, "the ring fits");

// Tiles of one stage.
struct Stage {
  uint32_t a;
  CG_DEVICE uint32_t b(int product) const { return a + TileA::BYTES + product * TileB::BYTES; }
};

// Both operands of a tile of y.
struct Operands {
  using A = Loader<TileA, BM, A_ACCESS, A_STREAMED, decltype(declval<Problem>().a(0))>;
  using B = Loader<TileB, BN, B_ACCESS, B_STREAMED, decltype(declval<Problem>().b0(0))>;
  A a;
  B b[PRODUCTS];
  int end;

  CG_DEVICE void fetch_a(Stage stage, int tile) {
    if (tile < end) a.fetch(stage.a, Integer(tile) * BK);
  }
  CG_DEVICE void fetch_b(Stage stage, int tile) {
    CUTE_UNROLL
    for (int p = 0; p < PRODUCTS; ++p) {
      if (tile < end) b[p].fetch(stage.b(p), Integer(tile) * BK);
    }
  }
  CG_DEVICE void put_a(Stage stage, int tile) {
    if (tile < end) a.put(stage.a);
  }
  CG_DEVICE void put_b(Stage stage, int tile) {
    CUTE_UNROLL
    for (int p = 0; p < PRODUCTS; ++p) {
      if (tile < end) b[p].put(stage.b(p));
    }
  }
};

// What a warp holds of one step of k.
struct Fragments {
  uint32_t r[OF_R][MMA_R][4];
  uint32_t c[OF_C][MMA_C][2];
};

// A fragment of 16 rows: K-major as it lies, MN-major transposed on the way.
template <class Tile>
CG_DEVICE void load_16(uint32_t (&to)[4], uint32_t tile, int row, int k, int lane) {
  if constexpr (Tile::K_MAJOR) {
    ldmatrix(to[0], to[1], to[2], to[3], tile + Tile::at(row + lane % 16, k + lane / 16 * 8));
  } else {
    ldmatrix_trans(to[0], to[1], to[2], to[3], tile + Tile::at(row + lane / 8 % 2 * 8, k + lane / 16 * 8 + lane % 8));
  }
}
// Two fragments of 8 rows.
template <class Tile>
CG_DEVICE void load_8x2(uint32_t (&a)[2], uint32_t (&b)[2], uint32_t tile, int row, int k, int lane) {
  if constexpr (Tile::K_MAJOR) {
    ldmatrix(a[0], a[1], b[0], b[1], tile + Tile::at(row + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
  } else {
    ldmatrix_trans(a[0], a[1], b[0], b[1], tile + Tile::at(row + lane / 16 * 8, k + lane / 8 % 2 * 8 + lane % 8));
  }
}
// One fragment of 8 rows.
template <class Tile>
CG_DEVICE void load_8(uint32_t (&to)[2], uint32_t tile, int row, int k, int lane) {
  const int half = lane / 8 % 2 * 8;
  if constexpr (Tile::K_MAJOR) ldmatrix(to[0], to[1], tile + Tile::at(row + lane % 8, k + half));
  else ldmatrix_trans(to[0], to[1], tile + Tile::at(row, k + half + lane % 8));
}

CG_DEVICE void load_fragments(Fragments& f, Stage stage, int step, int warp, int lane) {
  using TileR = conditional_t<SWAP, TileB, TileA>;
  using TileC = conditional_t<SWAP, TileA, TileB>;
  const int row = warp % WARPS_R * (MMA_R * 16), column = warp / WARPS_R % WARPS_C * (MMA_C * 8);
  const int k = (warp / (WARPS_R * WARPS_C) * MMA_K + step) * 16;
  CUTE_UNROLL
  for (int p = 0; p < OF_R; ++p) {
    const uint32_t tile = SWAP ? stage.b(p) : stage.a;
    CUTE_UNROLL
    for (int i = 0; i < MMA_R; ++i) load_16<TileR>(f.r[p][i], tile, row + i * 16, k, lane);
  }
  CUTE_UNROLL
  for (int p = 0; p < OF_C; ++p) {
    const uint32_t tile = SWAP ? stage.a : stage.b(p);
    CUTE_UNROLL
    for (int j = 0; j + 1 < MMA_C; j += 2) load_8x2<TileC>(f.c[p][j], f.c[p][j + 1], tile, column + j * 8, k, lane);
    if constexpr (MMA_C % 2 == 1) load_8<TileC>(f.c[p][MMA_C - 1], tile, column + (MMA_C - 1) * 8, k, lane);
  }
}

CG_DEVICE void mma_step(Accumulators& accum, Fragments const& f) {
  CUTE_UNROLL
  for (int p = 0; p < PRODUCTS; ++p) {
    CUTE_UNROLL
    for (int i = 0; i < MMA_R; ++i) {
      CUTE_UNROLL
      for (int j = 0; j < MMA_C; ++j) {
        uint32_t const(&r)[4] = f.r[SWAP ? p : 0][i];
        uint32_t const(&c)[2] = f.c[SWAP ? 0 : p][j];
        float(&d)[4] = accum.d[p][i][j];
        Mma::fma(d[0], d[1], d[2], d[3], r[0], r[1], r[2], r[3], c[0], c[1], d[0], d[1], d[2], d[3]);
      }
    }
  }
}

CG_DEVICE Stage stage_at(uint32_t ring, int slot) { return Stage{ring + uint32_t(slot) * STAGE_BYTES}; }

// Asks for the first stages; what is constant before the kernel ahead has ended.
CG_DEVICE void fill_ring(Operands& operands, uint32_t ring, int begin) {
  CUTE_UNROLL
  for (int s = 0; s < STAGES - 1; ++s) {
    const Stage stage = stage_at(ring, s);
    if constexpr (PDL && A_AHEAD) {
      operands.fetch_a(stage, begin + s);
      operands.put_a(stage, begin + s);
    }
    if constexpr (PDL && B_AHEAD) {
      operands.fetch_b(stage, begin + s);
      operands.put_b(stage, begin + s);
    }
  }
  if constexpr (PDL) asm volatile("griddepcontrol.wait;" ::: "memory");
  CUTE_UNROLL
  for (int s = 0; s < STAGES - 1; ++s) {
    const Stage stage = stage_at(ring, s);
    if constexpr (!(PDL && A_AHEAD)) operands.fetch_a(stage, begin + s);
    if constexpr (!(PDL && B_AHEAD)) operands.fetch_b(stage, begin + s);
    if constexpr (!(PDL && A_AHEAD)) operands.put_a(stage, begin + s);
    if constexpr (!(PDL && B_AHEAD)) operands.put_b(stage, begin + s);
    cp_async_fence();
  }
}

// The sum over a range of tiles of k, whose first stages are on their way.
CG_DEVICE void main_loop(Accumulators& accum, Operands& operands, uint32_t ring, Range range) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  Fragments fragments[2];
  int slot = 0, next = STAGES - 1;
  cp_async_wait<STAGES - 2>();
  __syncthreads();
  load_fragments(fragments[0], stage_at(ring, 0), 0, warp, lane);
  CUTE_NO_UNROLL
  for (int tile = range.begin; tile < range.end; ++tile) {
    const int ahead = tile + STAGES - 1;
    const Stage to = stage_at(ring, next);
    CUTE_UNROLL
    for (int step = 0; step < MMA_K; ++step) {
      if (step == 0) {
        operands.fetch_a(to, ahead);
        operands.fetch_b(to, ahead);
        cp_async_fence();
      }
      if (step == MMA_K - 1) {  // the next stage is there
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        slot = slot + 1 == STAGES ? 0 : slot + 1;
      }
      load_fragments(fragments[(step + 1) % 2], stage_at(ring, slot), (step + 1) % MMA_K, warp, lane);
      mma_step(accum, fragments[step % 2]);
    }
    operands.put_a(to, ahead);
    operands.put_b(to, ahead);
    next = next + 1 == STAGES ? 0 : next + 1;
    if constexpr (MMA_K % 2 == 1) fragments[0] = fragments[1];
  }
  cp_async_wait<0>();
  __syncthreads();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS) cutegen_2db56ae0c6ea6dd3(
    bf16 const* t0, bf16 const* t1, bf16 const* t2, bf16* t3, int64_t a0, int64_t a1, int64_t a2) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const Problem p{t0, t1, t2, t3, Integer(a0)};
  if constexpr (PDL) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int tiles_m = int(quotient(p.m() + (BM - 1), BM)), tiles_n = int(quotient(p.columns() + (BN - 1), BN));
  const TileCoord tile = tile_coord(blockIdx.x, tiles_m, tiles_n);
  const OutputTile output = {int64_t(blockIdx.x), Integer(tile.batch), Integer(tile.m) * BM, Integer(tile.n) * BN};
  const Range range = split_range(int(quotient(p.k() + (BK - 1), BK)), int(blockIdx.y), SPLITS);
  const uint32_t ring = cast_smem_ptr_to_uint(smem);
  Operands operands = {{p.a(output.batch), output.m0}, {{p.b0(output.batch), output.n0}}, range.end};
  Accumulators accum = {};
  fill_ring(operands, ring, range.begin);
  main_loop(accum, operands, ring, range);
  epilogue(p, reinterpret_cast<float*>(smem), accum, output);
}
