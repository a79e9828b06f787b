// product v1x8s3w2x4u1: t2[v0:a0, v1:a1] = sum(v2:a2, mul(t0[v0:a0, v2:a2], t1[v1:a1, v2:a2]))
//
// Idea: with so few rows a product takes as long as its weights take to come from memory, and FMAs of scalar cores keep up. A warp
// has COLUMNS columns of y, its lanes being neighbours along k. Where columns run through memory, LANES_N lanes are neighbours
// along them, and the others along k. Each thread copies the pieces of weights that it multiplies itself, by cp.async to a ring
// in shared memory, so that no thread waits for another. The ring goes on through all tiles of a block: it is full from the
// launch, before the kernel ahead has ended where weights are constant, to the last tile. Factors with the rows come through L1.
// Lanes add up by shuffles, warps that share k through shared memory in their order.
// Bound: reading the weights once. A block takes half a multiprocessor at most, so that the next kernel fills its ring meanwhile.
// Where columns are too few, SPLITS blocks share the k of a tile, and the last of them to arrive adds their parts in order.
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

namespace {

using namespace cute;

// ---------------------------------------------------------------- configuration

using T = bf16;
[[maybe_unused]] constexpr int PRODUCTS = 1;
[[maybe_unused]] constexpr int ROWS = 1;
[[maybe_unused]] constexpr int COLUMNS = 8;
[[maybe_unused]] constexpr int LANES_N = 1;
[[maybe_unused]] constexpr int WARPS_N = 2;
[[maybe_unused]] constexpr int WARPS_K = 4;
[[maybe_unused]] constexpr int UNROLL = 1;
[[maybe_unused]] constexpr int STAGES = 3;
[[maybe_unused]] constexpr int SPLITS = 1;
[[maybe_unused]] constexpr int A_ACCESS = 16;
[[maybe_unused]] constexpr int B_ACCESS = 16;
[[maybe_unused]] constexpr int SMEM = 98816;
[[maybe_unused]] constexpr int GROUP = 1;
[[maybe_unused]] constexpr int VEC = 8;
[[maybe_unused]] constexpr bool WHOLE_COLUMNS = true;
[[maybe_unused]] constexpr bool WHOLE_TERMS = true;
[[maybe_unused]] constexpr bool B_K_MAJOR = true;
[[maybe_unused]] constexpr bool B_AHEAD = true;
[[maybe_unused]] constexpr bool PDL = false;
[[maybe_unused]] constexpr Load LOAD = Load::CACHED;
[[maybe_unused]] constexpr Store STORE = Store::CACHED;

constexpr int THREADS = 32 * WARPS_N * WARPS_K;
constexpr int EACH = 16 / int(sizeof(T));                                   // elements of a piece
constexpr int LANES_K = 32 / LANES_N, CHUNK = LANES_K * EACH;               // lanes along k, and their terms
constexpr int WARP_COLUMNS = LANES_N * COLUMNS;                             // COLUMNS of a lane
constexpr int BM = ROWS, BN = WARPS_N * WARP_COLUMNS, BK = WARPS_K * UNROLL * CHUNK;  // tile
constexpr int PIECES = PRODUCTS * COLUMNS * UNROLL;                         // of a thread, of a stage
constexpr int STAGE_BYTES = PIECES * THREADS * 16;

static_assert(B_K_MAJOR ? LANES_N == 1 : COLUMNS == EACH, "a piece lies along k or along columns");
static_assert(THREADS <= 512 && STAGES >= 2, "registers are for these");

// ---------------------------------------------------------------- operands in memory

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

// ---------------------------------------------------------------- the math

}  // namespace

struct Problem {
  bf16 const* t0;
  bf16 const* t1;
  bf16* t2;
  Integer a0;
  static constexpr Integer a1 = 6144;
  static constexpr Integer a2 = 4096;

  CG_DEVICE Integer rows() const { return a0; }
  CG_DEVICE Integer columns() const { return a1; }

  // Loop variables, and the place of a vector (or an element) in its row.
  struct At { Integer v0; Integer q; };
  struct Values { };
  struct Results { float y0; };
  struct Vector {
  };
  struct Element { };

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

  CG_DEVICE void load([[maybe_unused]] Vector& r, [[maybe_unused]] At const& at) const {
  }
  CG_DEVICE void load([[maybe_unused]] Element& r, [[maybe_unused]] At const& at) const {
  }
  CG_DEVICE Values values([[maybe_unused]] Vector const& r, [[maybe_unused]] At const& at, [[maybe_unused]] int j) const {
    Values x;
    return x;
  }
  CG_DEVICE Values values([[maybe_unused]] Element const& r, [[maybe_unused]] At const& at) const {
    Values x;
    return x;
  }

  CG_DEVICE Results results([[maybe_unused]] Values const& x, float acc0) const {
    Results y;
    y.y0 = acc0;
    return y;
  }

  CG_DEVICE void store(Results const (&y)[VEC], At const& at) const {
    Window<bf16, 8, 8> w0;  // y: (8, 1)
    w0.fill([&](int j) { return y[j].y0; });
    w0.template store<STORE>(t2 + (at.q * 8 + at.v0 * 6144));
  }
  CG_DEVICE void store(Results const& y, At const& at) const {
    put(t2[(at.q + at.v0 * 6144)], y.y0);
  }
  CG_DEVICE Integer m() const { return a0; }
  CG_DEVICE Integer k() const { return a2; }
  template <class Sums>
  CG_DEVICE Results results(Values const& x, Sums const& sums, int j) const { return results(x, sums.v[0][j]); }
  CG_DEVICE auto a([[maybe_unused]] Integer batch) const {
    return source(t0 + (0), cute::Int<4096>{}, cute::Int<1>{}, Integer(a0), k());
  }
  CG_DEVICE auto b0([[maybe_unused]] Integer batch) const {
    return source(t1 + (0), cute::Int<4096>{}, cute::Int<1>{}, Integer(a1), k());
  }
  CG_DEVICE Integer batches() const { return 1; }
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

// ---------------------------------------------------------------- sums of lanes

// Sums of a lane.     (COLUMNS, ROWS, PRODUCTS)
struct Accumulators {
  static constexpr int COUNT = PRODUCTS * ROWS * COLUMNS;
  float d[COUNT];
  CG_DEVICE float& at(int product, int row, int column) { return d[(product * ROWS + row) * COLUMNS + column]; }
};

// Adds up what lanes along k have of COUNT sums each, by halves: from OFFSET lanes away comes the half that is kept. Where one
// sum is left, all of them have it. Returns the number of the first sum that is this lane's.
template <int COUNT, int OFFSET, int ALL>
CG_DEVICE int add_lanes(float (&v)[ALL], int lane) {
  if constexpr (OFFSET < LANES_N) {
    return 0;
  } else if constexpr (COUNT > 1) {
    constexpr int HALF = COUNT / 2;
    const bool is_upper = (lane & OFFSET) != 0;
    CUTE_UNROLL
    for (int i = 0; i < HALF; ++i) {
      const float given = is_upper ? v[i] : v[i + HALF], kept = is_upper ? v[i + HALF] : v[i];
      v[i] = kept + __shfl_xor_sync(0xffffffffu, given, OFFSET);
    }
    return (is_upper ? HALF : 0) + add_lanes<HALF, OFFSET / 2>(v, lane);
  } else {
    v[0] += __shfl_xor_sync(0xffffffffu, v[0], OFFSET);
    return add_lanes<1, OFFSET / 2>(v, lane);
  }
}

// All sums of a tile in shared memory, for the epilogue.     (ROWS, BN, WARPS_K, PRODUCTS) : (LINE, 1, ...)
constexpr int LINE = BN, PASSES = 1, PASS_ROWS = BM;
constexpr int SUM_BYTES = PRODUCTS * WARPS_K * PASS_ROWS * LINE * 4;
static_assert(STAGES * STAGE_BYTES + 2 * SUM_BYTES <= SMEM, "the ring and sums of two tiles fit");
CG_DEVICE float* sum_at(float* smem, int row, int column, int plane, int product) {
  return smem + ((product * WARPS_K + plane) * PASS_ROWS + row) * LINE + column;
}
CG_DEVICE int tile_row(int row, int) { return row; }

// The first of the columns of a tile that this lane has.
CG_DEVICE int first_column(int warp, int lane) { return warp % WARPS_N * WARP_COLUMNS + lane % LANES_N * COLUMNS; }

// The sums of a warp, to shared memory. Of lanes that have the same sums the first writes them.
CG_DEVICE void spill_pass(float* smem, Accumulators const& accum, int, int warp, int lane) {
  constexpr int COUNT = Accumulators::COUNT;
  constexpr int LEFT = COUNT > LANES_K ? COUNT / LANES_K : 1, ALIKE = COUNT < LANES_K ? LANES_K / COUNT : 1;
  float v[COUNT];
  CUTE_UNROLL
  for (int i = 0; i < COUNT; ++i) v[i] = accum.d[i];
  const int first = add_lanes<COUNT, 16>(v, lane);
  if (lane / LANES_N % ALIKE != 0) return;
  CUTE_UNROLL
  for (int i = 0; i < LEFT; ++i) {
    const int at = first + i, column = at % COLUMNS, row = at / COLUMNS % ROWS, product = at / (COLUMNS * ROWS);
    *sum_at(smem, row, first_column(warp, lane) + column, warp / WARPS_N, product) = v[i];
  }
}

static_assert(BN % VEC == 0, "whole vectors");

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

// ---------------------------------------------------------------- work of a block

// Part `split` of a tile of y.
struct Work {
  OutputTile output;
  int split;
  Range range;  // tiles of k
};
CG_DEVICE int64_t work_count(Problem const& p) {
  return int64_t(p.batches()) * quotient(p.columns() + (BN - 1), BN) * SPLITS;
}
CG_DEVICE Work work_at(Problem const& p, int64_t number) {
  const int64_t tile = number / SPLITS;
  const int tiles_n = int(quotient(p.columns() + (BN - 1), BN)), split = int(number % SPLITS);
  const TileCoord at = tile_coord(tile, 1, tiles_n);
  return {{tile, Integer(at.batch), 0, Integer(at.n) * BN}, split, split_range(int(quotient(p.k() + (BK - 1), BK)), split, SPLITS)};
}

// The first of the terms that this lane has in a tile of k.
CG_DEVICE Integer first_term(int tile, int warp, int lane) {
  return Integer(tile) * BK + warp / WARPS_N * (UNROLL * CHUNK) + lane / LANES_N * EACH;
}

// ---------------------------------------------------------------- weights

// Elements 2 i and the next of a piece.
CG_DEVICE float2 pair_of(uint4 const& piece, int i) { return to_f32x2(reinterpret_cast<PairOf<T> const*>(&piece)[i]); }

// What a thread holds of a stage: a piece for each column, or for each of as many terms.     (UNROLL, COLUMNS, PRODUCTS)
struct Weights {
  uint4 piece[PRODUCTS][COLUMNS][UNROLL];

  // Terms 2 i and the next of a column.
  CG_DEVICE float2 terms(int product, int column, int u, int i) const {
    uint4 const(&own)[COLUMNS][UNROLL] = piece[product];
    if constexpr (B_K_MAJOR) {
      return pair_of(own[column][u], i);
    } else {
      const float2 low = pair_of(own[2 * i][u], column / 2), high = pair_of(own[2 * i + 1][u], column / 2);
      return column % 2 == 0 ? make_float2(low.x, high.x) : make_float2(low.y, high.y);
    }
  }
};

// Copies the weights of all work of this block, one stage after the other, and gives a thread what it copied. A block with no
// work left commits copies of nothing, so that waits count on.
struct Stream {
  Problem const& p;
  unsigned char* ring;
  int64_t number, count;
  Work work;
  int tile, slot;
  uint64_t policy;

  CG_DEVICE Stream(Problem const& problem, unsigned char* smem)
      : p(problem), ring(smem + threadIdx.x * 16), number(blockIdx.x), count(work_count(problem)), slot(0), policy(evict_first()) {
    begin();
  }
  CG_DEVICE void begin() {
    if (number < count) work = work_at(p, number);
    tile = work.range.begin;
  }
  CG_DEVICE unsigned char* at(int piece) const { return ring + (slot * PIECES + piece) * (THREADS * 16); }

  // The piece of column or term c. Columns behind the last are copies of it, or zeros, which nothing stores.
  template <class Source>
  CG_DEVICE void copy(Source const& from, int product, Integer first) const {
    constexpr int WIDTH = B_ACCESS / int(sizeof(T));
    const Integer column0 = work.output.n0 + first_column(int(threadIdx.x) / 32, int(threadIdx.x) % 32);
    CUTE_UNROLL
    for (int c = 0; c < COLUMNS; ++c) {
      CUTE_UNROLL
      for (int u = 0; u < UNROLL; ++u) {
        const uint32_t to = cast_smem_ptr_to_uint(at((product * COLUMNS + c) * UNROLL + u));
        CUTE_UNROLL
        for (int e = 0; e < EACH; e += WIDTH) {
          const Integer k = first + u * CHUNK + (B_K_MAJOR ? e : c);
          const Integer wanted = column0 + (B_K_MAJOR ? c : e);
          const Integer column = WHOLE_COLUMNS || !B_K_MAJOR ? wanted : least(wanted, from.rows - 1);
          const bool in = (WHOLE_TERMS || k < from.k) && (B_K_MAJOR || WHOLE_COLUMNS || wanted < from.rows);
          T const* const element = from.base + int64_t(column) * from.row_stride + int64_t(k) * from.k_stride;
          copy_async<B_ACCESS, true>(to + e * int(sizeof(T)), in ? element : from.base, in, policy);
        }
      }
    }
  }
  // Fills the slot, whose weights were taken.
  CG_DEVICE void fetch() {
    if (number < count) {
      const Integer first = first_term(tile, int(threadIdx.x) / 32, int(threadIdx.x) % 32);
      const Integer batch = work.output.batch;
      copy(p.b0(batch), 0, first);
      if (++tile == work.range.end) {
        number += gridDim.x;
        begin();
      }
    }
    cp_async_fence();
    slot = slot + 1 == STAGES ? 0 : slot + 1;
  }
  CG_DEVICE void fill() {
    CUTE_NO_UNROLL
    for (int s = 0; s < STAGES; ++s) fetch();
  }
  // The oldest stage, whose slot is filled anew.
  CG_DEVICE void take(Weights& weights) {
    cp_async_wait<STAGES - 1>();
    CUTE_UNROLL
    for (int i = 0; i < PIECES; ++i) (&weights.piece[0][0][0])[i] = *reinterpret_cast<uint4 const*>(at(i));
    fetch();
  }
};

// ---------------------------------------------------------------- products

// What a lane has of the rows: rows behind the last are copies of it, terms behind the last are zeros.     (ROWS, UNROLL)
struct Rows {
  uint4 piece[UNROLL][ROWS];

  template <class Source>
  CG_DEVICE void load(Source const& from, Integer first) {
    using Access = uint_bit_t<A_ACCESS * 8>;
    constexpr int WIDTH = A_ACCESS / int(sizeof(T));
    CUTE_UNROLL
    for (int u = 0; u < UNROLL; ++u) {
      CUTE_UNROLL
      for (int r = 0; r < ROWS; ++r) {
        T const* const line = from.base + int64_t(ROWS == 1 ? Integer(0) : least(Integer(r), from.rows - 1)) * from.row_stride;
        alignas(16) Access v[16 / A_ACCESS];
        CUTE_UNROLL
        for (int e = 0; e < EACH; e += WIDTH) {
          const Integer k = first + (u * CHUNK + e);
          v[e / WIDTH] = Access{};
          if (WHOLE_TERMS || k < from.k) v[e / WIDTH] = *reinterpret_cast<Access const*>(line + int64_t(k) * from.k_stride);
        }
        piece[u][r] = *reinterpret_cast<uint4 const*>(v);
      }
    }
  }
};

CG_DEVICE void multiply(Accumulators& accum, Weights const& weights, Rows const& rows) {
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    CUTE_UNROLL
    for (int i = 0; i < EACH / 2; ++i) {
      float2 x[ROWS];
      CUTE_UNROLL
      for (int r = 0; r < ROWS; ++r) x[r] = pair_of(rows.piece[u][r], i);
      CUTE_UNROLL
      for (int product = 0; product < PRODUCTS; ++product) {
        CUTE_UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
          const float2 w = weights.terms(product, c, u, i);
          CUTE_UNROLL
          for (int r = 0; r < ROWS; ++r) {
            float& sum = accum.at(product, r, c);
            sum = fmaf(w.y, x[r].y, fmaf(w.x, x[r].x, sum));
          }
        }
      }
    }
  }
}

// The sums of one work, whose weights come next.
CG_DEVICE void main_loop(Accumulators& accum, Problem const& p, Stream& stream, Work const& work) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const auto a = p.a(work.output.batch);
  CUTE_NO_UNROLL
  for (int tile = work.range.begin; tile < work.range.end; ++tile) {
    Rows rows;
    rows.load(a, first_term(tile, warp, lane));
    Weights weights;
    stream.take(weights);
    multiply(accum, weights, rows);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 2) cutegen_9acc0725e210cfea(
    bf16 const* t0, bf16 const* t1, bf16* t2, int64_t a0, int64_t a1, int64_t a2) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const Problem p{t0, t1, t2, Integer(a0)};
  if constexpr (PDL) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  Stream stream(p, smem);
  if constexpr (PDL && B_AHEAD) stream.fill();
  if constexpr (PDL) asm volatile("griddepcontrol.wait;" ::: "memory");
  if constexpr (!(PDL && B_AHEAD)) stream.fill();
  float* sums = reinterpret_cast<float*>(smem + STAGES * STAGE_BYTES);
  int other = SUM_BYTES / 4;
  CUTE_NO_UNROLL
  for (int64_t number = blockIdx.x; number < stream.count; number += gridDim.x) {
    const Work work = work_at(p, number);
    Accumulators accum = {};
    main_loop(accum, p, stream, work);
    epilogue(p, sums, accum, work.output);
    sums += other;  // while slow warps read these
    other = -other;
  }
}
