// product p64x128s4w2: temp [0, 1] exact
// temp [0, 1] exact
// u0[v0:a0, v1:a1] = sum(v2:a2, mul(t0[v0:a0, v2:a2], t1[v1:a1, v2:a2]))
// u1[v0:a0, v1:a1] = sum(v2:a2, mul(t0[v0:a0, v2:a2], t2[v1:a1, v2:a2]))
// t3[v0:a0, v1:a1] = mul(silu(u0[v0:a0, v1:a1]), u1[v0:a0, v1:a1])
//
// Idea: a persistent block has one producer, which fills a ring of stages by TMA (both operands, 64 along k), and
// warpgroups that multiply them by wgmma, one instruction group ahead of what they wait for, so that tensor cores always
// have work. Cooperative warpgroups share a tile; in ping-pong each has its own, and its epilogue runs under the other's
// main loop. Two blocks of a cluster load halves of what they share and give them to both. Tiles are rastered in groups, so
// that a wave reads few rows of either operand from HBM. Few tiles: k is split, over a cluster whose first block adds f32
// sums, or over blocks of which the last to arrive does, in the order of k. With few rows (SWAP) weights are the 64-row
// side of wgmma and tokens its columns.
// Bound: tensor cores, from about 300 rows on; weights from HBM below.
#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED
#include <cute/arch/mma_sm90_gmma.hpp>
#include <cute/arch/copy_sm90.hpp>
#include <cute/arch/mma_sm90_desc.hpp>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/pipeline/sm90_pipeline.hpp>
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

// template <Major, Major> Atom; A_MAJOR, B_MAJOR; BM, BN: rows of a tile on the 64 side, and on the other one
template <cute::SM90::GMMA::Major L, cute::SM90::GMMA::Major R>
using Atom = cute::SM90::GMMA::MMA_64x128x16_F32BF16BF16_SS<L, R>;
constexpr auto A_MAJOR = cute::SM90::GMMA::Major::K;
constexpr auto B_MAJOR = cute::SM90::GMMA::Major::K;
constexpr auto HINT_A = cute::TMA::CacheHintSm90::EVICT_NORMAL;
constexpr auto HINT_B = cute::TMA::CacheHintSm90::EVICT_NORMAL;
using Out = bf16;
[[maybe_unused]] constexpr int BM = 64;
[[maybe_unused]] constexpr int BN = 128;
[[maybe_unused]] constexpr int STAGES = 4;
[[maybe_unused]] constexpr int CONSUMERS = 2;
[[maybe_unused]] constexpr int CLUSTER = 1;
[[maybe_unused]] constexpr int CLUSTER_K = 1;
[[maybe_unused]] constexpr int BLOCKS = 1;
[[maybe_unused]] constexpr int PRODUCER_REGISTERS = 24;
[[maybe_unused]] constexpr int CONSUMER_REGISTERS = 240;
[[maybe_unused]] constexpr int Y_BUFFERS = 2;
[[maybe_unused]] constexpr int BURST = 1;
[[maybe_unused]] constexpr int SMEM = 205824;
[[maybe_unused]] constexpr int VEC = 8;
[[maybe_unused]] constexpr bool PING_PONG = true;
[[maybe_unused]] constexpr bool ALONG_M = false;
[[maybe_unused]] constexpr bool SWAP = false;
[[maybe_unused]] constexpr bool PAIR = true;
[[maybe_unused]] constexpr bool SPLIT = false;
[[maybe_unused]] constexpr bool STREAM_K = false;
[[maybe_unused]] constexpr bool PDL = false;
[[maybe_unused]] constexpr bool EARLY = false;
[[maybe_unused]] constexpr bool PLANES = false;
[[maybe_unused]] constexpr bool TMA_STORE = false;
[[maybe_unused]] constexpr bool A_BATCHED = false;
[[maybe_unused]] constexpr bool B_BATCHED = false;
[[maybe_unused]] constexpr Load LOAD = Load::CACHED;
[[maybe_unused]] constexpr Store STORE = Store::CACHED;

constexpr bool SPECIALISED = PRODUCER_REGISTERS > 0;  // registers move from the producer to the consumers
constexpr int PRODUCER_THREADS = SPECIALISED ? 128 : 32, TEAM = PING_PONG ? 128 : 128 * CONSUMERS;  // TEAM: threads of a tile
constexpr int ATOMS = BM * 128 / TEAM / 64;  // of a warpgroup, along the 64 side
constexpr int THREADS = 128 * CONSUMERS + PRODUCER_THREADS;
constexpr int OPERANDS = PAIR ? 2 : 1, LEFTS = SWAP ? OPERANDS : 1, RIGHTS = SWAP ? 1 : OPERANDS;
constexpr bool ALONG_LEFT = ALONG_M != SWAP;  // blocks of a cluster lie along the left side, and share the right operand
constexpr int CLUSTER_LEFT = ALONG_LEFT ? CLUSTER : 1, CLUSTER_RIGHT = ALONG_LEFT ? 1 : CLUSTER;

static_assert(BM % 64 == 0 && BM * 128 % (TEAM * 64) == 0, "whole atoms for each warpgroup");
static_assert(BN % 8 == 0 && BN >= 8 && BN <= 256 && (SWAP || BN % 16 == 0), "wgmma's columns");
static_assert(ATOMS * OPERANDS * BN <= 448, "accumulators stay in registers");
static_assert(!PING_PONG || CONSUMERS == 2, "two by turns");
static_assert(CLUSTER == 1 || CLUSTER == 2, "one or two blocks");
static_assert(CLUSTER_K == 1 || (CLUSTER == 1 && !SPLIT && !PING_PONG && CLUSTER_K <= 8), "a cluster shares an operand or k");
static_assert(!STREAM_K || (SPLIT && CLUSTER * CLUSTER_K == 1 && !PING_PONG), "blocks of their own");
static_assert(16 % VEC == 0 && !(TMA_STORE && PAIR), "vectors of a chunk; a pair has math");

// What the launch computes: y[batches, m, n] over k, in `splits`, `group` tiles of the 64 side beside each other.
struct Extents {
  int batches, m, n, k, splits, group;
};
struct Maps {
  TmaDescriptor const *a, *b, *b1, *y;
};

// ---------------------------------------------------------------- the math

}  // namespace

struct Problem {
  bf16 const* t0;
  bf16 const* t1;
  bf16 const* t2;
  bf16* t3;
  Integer a0;
  static constexpr Integer a1 = 14336;

  CG_DEVICE Integer rows() const { return a0; }
  CG_DEVICE Integer columns() const { return a1; }

  // Loop variables, and the place of a vector (or an element) in its row.
  struct At { Integer v6; Integer q; };
  struct Values { };
  struct Results { float y0; };
  struct Vector {
  };
  struct Element { };

  CG_DEVICE At at([[maybe_unused]] Integer row, Integer q) const {
    At at;
    at.q = q;
    at.v6 = row;
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

  CG_DEVICE Results results([[maybe_unused]] Values const& x, float acc0, float acc1) const {
    Results y;
    y.y0 = (cg_silu(acc0) * acc1);
    return y;
  }

  CG_DEVICE void store(Results const (&y)[VEC], At const& at) const {
    Window<bf16, 8, 8> w0;  // h: (8, 1)
    w0.fill([&](int j) { return y[j].y0; });
    w0.template store<STORE>(t3 + (at.q * 8 + at.v6 * 14336));
  }
  CG_DEVICE void store(Results const& y, At const& at) const {
    put(t3[(at.q + at.v6 * 14336)], y.y0);
  }
};

// Which tile, and which part of k, a block computes when: plain C++ that a host compiles, too, and checks: every k tile of
// every output tile is there once. Knows nothing of CuTe, threads and memory. Always: no piece of work is empty.
namespace {

// One output tile of a cluster, and the k tiles that are added up for it.
struct Work {
  int batch, left, right;  // in tiles of a cluster
  int tile;                // number of the tile, splits not counted
  int split, splits;       // blocks that have a part of its k, in the order of k
  int first, count;        // k tiles
};

// An extent, and how much of it a tile has.
struct Side {
  int extent, tile;
  constexpr int tiles() const { return (extent + tile - 1) / tile; }
};

struct Tiles {
  int batches, left, right;  // tiles of a cluster, along each side
  int k_tiles, splits, group;

  // More splits than k tiles are as many as there are.
  static constexpr Tiles of(int batches, Side left, Side right, Side k, int splits, int group) {
    return {batches, left.tiles(), right.tiles(), k.tiles(), splits < k.tiles() ? splits : k.tiles(), group};
  }

  constexpr int count() const { return batches * left * right * splits; }

  // Splits of a tile follow each other; then tiles: down a group of `group` on the left, then to the right, group after group.
  constexpr Work at(int index) const {
    const unsigned whole = unsigned(index), in_batch = unsigned(left) * unsigned(right), splits_ = unsigned(splits);
    const unsigned tile = splits == 1 ? whole : whole / splits_, split = whole - tile * splits_;
    const unsigned batch = batches == 1 ? 0 : tile / in_batch, place = tile - batch * in_batch;
    const unsigned begin = place / unsigned(group * right) * unsigned(group), rest = place - begin * unsigned(right);
    const unsigned size = unsigned(left) - begin < unsigned(group) ? unsigned(left) - begin : unsigned(group);
    const unsigned down = rest / size;
    const unsigned first = unsigned(k_tiles) * split / splits_, end = unsigned(k_tiles) * (split + 1) / splits_;
    return {int(batch), int(begin + rest - down * size), int(down), int(tile), int(split), splits, int(first), int(end - first)};
  }

  // Stream-K (Osama et al., 2023): k tiles of all output tiles in a row, of which each block has as many as the others. No
  // more blocks than k tiles.
  constexpr unsigned of_k() const { return unsigned(batches * left * right) * unsigned(k_tiles); }
  constexpr unsigned begin_of(int block, int blocks) const { return of_k() * unsigned(block) / unsigned(blocks); }
  constexpr int owner(unsigned k_tile, int blocks) const { return int(((k_tile + 1) * unsigned(blocks) - 1) / of_k()); }

  // What a block has of an output tile.
  constexpr Work share(int index, int block, int blocks) const {
    Work w = at(index);
    const unsigned from = unsigned(index * k_tiles), to = from + unsigned(k_tiles);
    const unsigned begin = begin_of(block, blocks), end = begin_of(block + 1, blocks);
    const unsigned first = begin > from ? begin : from, last = end < to ? end : to;
    w.first = int(first - from), w.count = int(last - first);
    w.split = block - owner(from, blocks), w.splits = 1 + owner(to - 1, blocks) - owner(from, blocks);
    return w;
  }
};

}  // namespace

// Operands in shared memory, and the steps of the ring: how TMA writes a tile of 64 along k, and how wgmma reads it.
namespace {

using Major = SM90::GMMA::Major;
using Barrier = cutlass::arch::ClusterBarrier;
using Full = cutlass::arch::ClusterTransactionBarrier;

constexpr int BK = 64;  // 128 bytes of k

constexpr int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }

// Where a box begins.
struct Corner {
  int row, k, batch;
};

// ROWS of a side of the product by BK; of SHARE blocks of a cluster each loads a part and gives it to all.
//   K:  (ROWS,BK):(BK,1), swizzled in 128 bytes, one box
//   MN: ((UNIT,ROWS/UNIT),BK):((1,UNIT*BK),UNIT), swizzled in UNIT elements, a box each
template <Major MAJOR, int ROWS, int SHARE>
struct Operand {
  static constexpr int PART = ROWS / SHARE, UNIT = MAJOR == Major::K ? BK : common_divisor(PART, 64);
  static constexpr int BOXES = MAJOR == Major::K ? 1 : PART / UNIT;
  static constexpr int SIZE = ROWS * BK, STEP = MAJOR == Major::K ? 2 : 2 * UNIT;  // from one 16 of k to the next, in 16 bytes
  static_assert(ROWS % SHARE == 0 && PART % 8 == 0 && (MAJOR == Major::K || UNIT >= 16), "whole swizzles");
  static_assert(MAJOR == Major::MN || PART <= 256, "a box");

  CG_DEVICE static void load(TmaDescriptor const* map, Full& full, TMA::CacheHintSm90 hint, uint16_t* to, Corner from,
                             int rank) {
    uint64_t* bar = reinterpret_cast<uint64_t*>(&full);
    const int row = from.row + (SHARE == 1 ? 0 : rank * PART);
    to += SHARE == 1 ? 0 : rank * PART * BK;
    CUTE_UNROLL
    for (int b = 0; b < BOXES; ++b) {
      const int inner = MAJOR == Major::K ? from.k : row + b * UNIT, outer = MAJOR == Major::K ? row : from.k;
      uint16_t* at = to + b * UNIT * BK;
      if constexpr (SHARE == 1) SM90_TMA_LOAD_3D::copy(map, bar, uint64_t(hint), at, inner, outer, from.batch);
      else SM90_TMA_LOAD_MULTICAST_3D::copy(map, bar, uint16_t((1 << SHARE) - 1), uint64_t(hint), at, inner, outer, from.batch);
    }
  }

  // From row `row` on, a multiple of 8 (K) or of UNIT, and from 16 k.
  CG_DEVICE static GmmaDescriptor descriptor(uint16_t const* tile, int row, int k) {
    GmmaDescriptor d{};
    d.bitfield.start_address_ = uint16_t(cast_smem_ptr_to_uint(tile + row * BK) >> 4);
    d.bitfield.leading_byte_offset_ = uint16_t(MAJOR == Major::K ? 1 : UNIT * BK / 8);
    d.bitfield.stride_byte_offset_ = uint16_t(UNIT);  // 8 rows of UNIT elements
    using SM90::GMMA::LayoutType;
    d.bitfield.layout_type_ = uint8_t(UNIT == 64 ? LayoutType::B128 : UNIT == 32 ? LayoutType::B64 : LayoutType::B32);
    d.reg32_[0] += uint32_t(k * STEP);
    return d;
  }
};

// acc += a * b over 16 of k, or acc = a * b                                     acc: (BN/2)
template <class Atom, class Acc, int... I>
CG_DEVICE void wgmma(Acc&& acc, uint64_t a, uint64_t b, SM90::GMMA::ScaleOut scale, int_sequence<I...>) {
  Atom::fma(a, b, acc(I)..., scale);
}

// Registers of a wgmma in flight are neither read nor moved across this.
template <class Acc>
CG_DEVICE void fence(Acc& acc) {
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) warpgroup_fence_operand(acc(i));
}

}  // namespace

// From accumulators to memory: partial sums of splits, then the math of `struct Problem` by vectors, or a cast and TMA stores.
namespace {

// Of a thread: value v of an atom is row 16 warp + lane / 4 + 8 (v / 2 % 2) of 64, column v / 4 * 8 + lane % 4 * 2 + v % 2.
using Accumulators = decltype(make_tensor<float>(Shape<Int<BN / 2>, Int<ATOMS>, Int<OPERANDS>>{}));  // (BN/2,ATOMS,OPERANDS)

// Where a warpgroup's part of a tile lies.
struct Place {
  int batch, m, n;  // of its first element; along SWAP's sides the other way round
};

// ---------------------------------------------------------------- splits

struct Partials {
  float4* sums;  // [tile][split][quad][thread]; STREAM_K: [block][is first of its tile][quad][thread]
  int *counter, *flag;
  int tile, split, splits;
  int block;  // of the first split

  CG_DEVICE int place(int split) const {
    if constexpr (STREAM_K) return 2 * (block + split) + (split == 0 ? 1 : 0);
    else return tile * splits + split;
  }
};

// Each split leaves its sums in the workspace; the last to arrive adds them, in the order of k, and is told so. The counter is
// zero before and after.
template <class Sync>
CG_DEVICE bool last_of_splits(Accumulators& acc, Partials const& parts, int thread, Sync const& sync) {
  constexpr int QUADS = size(Accumulators{}) / 4;
  Tensor tCrQ = recast<float4>(acc);  // (BN/8,ATOMS,OPERANDS)
  const auto sums = [&](int split) { return parts.sums + int64_t(parts.place(split)) * (QUADS * TEAM) + thread; };
  float4* mine = sums(parts.split);
  CUTE_UNROLL
  for (int q = 0; q < QUADS; ++q) __stcg(mine + q * TEAM, tCrQ(q));
  __threadfence();
  sync();
  if (thread == 0) *parts.flag = atomicAdd(parts.counter + parts.tile, 1);
  sync();
  if (*parts.flag != parts.splits - 1) return false;
  __threadfence();
  float4 const* first = sums(0);
  CUTE_UNROLL
  for (int q = 0; q < QUADS; ++q) tCrQ(q) = __ldcg(first + q * TEAM);
  CUTE_NO_UNROLL
  for (int s = 1; s < parts.splits; ++s) {
    float4 const* next = sums(s);
    constexpr int DEEP = QUADS < 16 ? QUADS : 16;  // in flight
    CUTE_UNROLL
    for (int q = 0; q < QUADS; q += DEEP) {
      float4 part[DEEP];
      CUTE_UNROLL
      for (int d = 0; d < DEEP; ++d) {
        if (q + d < QUADS) part[d] = __ldcg(next + (q + d) * TEAM);
      }
      CUTE_UNROLL
      for (int d = 0; d < DEEP; ++d) {
        if (q + d < QUADS) {
          float4& sum = tCrQ(q + d);
          sum = make_float4(sum.x + part[d].x, sum.y + part[d].y, sum.z + part[d].z, sum.w + part[d].w);
        }
      }
    }
  }
  if (thread == 0) parts.counter[parts.tile] = 0;
  return true;
}

// The same over a cluster, for its only tile: all others leave their sums with the first block, and are done.
CG_DEVICE void store_in_first(float4 const* at, float4 v, Full const& full) {
  const uint32_t to = set_block_rank(cast_smem_ptr_to_uint(at), 0), bar = set_block_rank(cast_smem_ptr_to_uint(&full), 0);
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
               :: "r"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(bar) : "memory");
}

CG_DEVICE bool first_of_cluster(Accumulators& acc, float* sums, Full& summed, int split, int thread) {
  constexpr int QUADS = size(Accumulators{}) / 4;
  Tensor tCrQ = recast<float4>(acc);  // (BN/8,ATOMS,OPERANDS)
  float4* at = reinterpret_cast<float4*>(sums) + thread;
  if (split > 0) {
    CUTE_UNROLL
    for (int q = 0; q < QUADS; ++q) store_in_first(at + ((split - 1) * QUADS + q) * TEAM, tCrQ(q), summed);
    return false;
  }
  summed.wait(0);
  CUTE_NO_UNROLL
  for (int s = 0; s < CLUSTER_K - 1; ++s) {
    CUTE_UNROLL
    for (int q = 0; q < QUADS; ++q) {
      const float4 part = at[(s * QUADS + q) * TEAM];
      float4& sum = tCrQ(q);
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
  }
  return true;
}

// ---------------------------------------------------------------- the math, by vectors

// A warp's chunk: 16 rows of 32 columns, or (SWAP) 32 rows of 16: as many rows of y, columns of y side by side, padded so that
// accumulators go in without conflicts.
constexpr int WIDE = SWAP ? 16 : 32, HIGH = 512 / WIDE, LINE = SWAP ? 20 : 40, PLANE = HIGH * LINE;
constexpr int CHUNKS = (BN + 31) / 32, VECTORS = TMA_STORE ? 1 : 16 / VEC;  // of a lane in a chunk

CG_DEVICE int lane_of() { return int(threadIdx.x) % 32; }
CG_DEVICE int warp_of() { return int(threadIdx.x) / 32 % 4; }

// Chunk `which`, a constant of one of the branches, into `to`.
CG_DEVICE void put_chunk(float* to, Accumulators const& acc, int which) {
  const int row = lane_of() / 4, column = lane_of() % 4 * 2;
  CUTE_UNROLL
  for (int c = 0; c < CHUNKS * ATOMS; ++c) {
    if (c != which) continue;
    CUTE_UNROLL
    for (int o = 0; o < OPERANDS; ++o) {
      CUTE_UNROLL
      for (int j = 0; j < 4 && c % CHUNKS * 4 + j < BN / 8; ++j) {
        CUTE_UNROLL
        for (int h = 0; h < 2; ++h) {
          const int v = (c % CHUNKS * 4 + j) * 4 + 2 * h, r = row + 8 * h, s = column + 8 * j;
          const float2 two = make_float2(acc(v, c / CHUNKS, o), acc(v + 1, c / CHUNKS, o));
          if constexpr (SWAP) {
            to[o * PLANE + s * LINE + r] = two.x;
            to[o * PLANE + (s + 1) * LINE + r] = two.y;
          } else {
            *reinterpret_cast<float2*>(to + o * PLANE + r * LINE + s) = two;
          }
        }
      }
    }
  }
}

template <class P, class Values>
CG_DEVICE typename P::Results results_of(P const& p, Values const& values, float const* sums) {
  if constexpr (OPERANDS == 2) return p.results(values, sums[0], sums[PLANE]);
  else return p.results(values, sums[0]);
}

// One of a lane's vectors of a chunk.
struct Segment {
  Problem::At at;
  Problem::Vector loaded;
  int from, left;  // its place in the chunk; columns that are there, VEC or more: all

  CG_DEVICE void load(Problem const& p, Extents const& x, Place const& place, int chunk, int which) {
    const int high = SWAP ? chunk % CHUNKS * 32 : chunk / CHUNKS * 64 + warp_of() * 16;
    const int wide = SWAP ? chunk / CHUNKS * 64 + warp_of() * 16 : chunk % CHUNKS * 32;
    const int i = which * 32 + lane_of(), r = i / (WIDE / VEC), c = i % (WIDE / VEC) * VEC;
    const int m = place.m + high + r, n = place.n + wide + c;
    const bool in = m < x.m && (BN % 32 == 0 || (SWAP ? high + r : wide + c) < BN);
    from = r * LINE + c;
    left = in ? x.n - n : 0;
    at = p.at(in ? Integer(place.batch) * Integer(x.m) + Integer(m) : 0, Integer(in ? n / VEC : 0));
    if (left >= VEC) p.load(loaded, at);
  }

  CG_DEVICE void compute_and_store(Problem const& p, float const* chunk) const {
    if (left >= VEC) {
      Problem::Results results[VEC];
      CUTE_UNROLL
      for (int j = 0; j < VEC; ++j) results[j] = results_of(p, p.values(loaded, at, j), chunk + from + j);
      p.store(results, at);
    } else {
      CUTE_NO_UNROLL
      for (int j = 0; j < left; ++j) {
        const auto one = Problem::lane(at, j);
        Problem::Element element;
        p.load(element, one);
        p.store(results_of(p, p.values(element, one), chunk + from + j), one);
      }
    }
  }
};

// One copy of the math for all chunks. Where registers are left for it, the inputs of a chunk are on their way while the one
// before is computed.
CG_DEVICE void finish(Accumulators const& acc, Problem const& p, Extents const& x, Place const& place, float* chunk) {
  constexpr bool AHEAD = size(Accumulators{}) <= 128 && VECTORS <= 4;
  constexpr int LAST = CHUNKS * ATOMS - 1;
  [[maybe_unused]] Segment now[VECTORS];
  const auto load_all = [&](Segment(&v)[VECTORS], int c) {
    CUTE_UNROLL
    for (int u = 0; u < VECTORS; ++u) v[u].load(p, x, place, c, u);
  };
  if constexpr (AHEAD) load_all(now, 0);
  CUTE_NO_UNROLL
  for (int c = 0; c <= LAST; ++c) {
    __syncwarp();
    put_chunk(chunk, acc, c);
    if constexpr (AHEAD) {
      Segment next[VECTORS];
      load_all(next, c < LAST ? c + 1 : LAST);
      __syncwarp();
      CUTE_UNROLL
      for (int u = 0; u < VECTORS; ++u) now[u].compute_and_store(p, chunk);
      CUTE_UNROLL  // NVRTC 13.0 drops all but the first vector where one loop does both
      for (int u = 0; u < VECTORS; ++u) now[u] = next[u];
    } else {
      __syncwarp();
      CUTE_NO_UNROLL
      for (int u = 0; u < VECTORS; ++u) {
        Segment v;
        v.load(p, x, place, c, u);
        v.compute_and_store(p, chunk);
      }
    }
  }
}

// ---------------------------------------------------------------- a cast, by TMA

// A box of y: 64 rows of Y_WIDE columns, or (SWAP) BN rows of 64, swizzled; Y_BUFFERS of them a warpgroup.
constexpr int Y_WIDE = SWAP ? 64 : common_divisor(BN, 64), Y_HIGH = SWAP ? BN : 64;
[[maybe_unused]] constexpr int Y_BOXES = SWAP ? 1 : BN / Y_WIDE;
using YSwizzle = Swizzle<(Y_WIDE == 64 ? 3 : Y_WIDE == 32 ? 2 : 1), 3, 3>;
using YLayout = ComposedLayout<YSwizzle, _0, Layout<Shape<Int<Y_HIGH>, Int<Y_WIDE>>, Stride<Int<Y_WIDE>, _1>>>;

CG_DEVICE uint32_t narrow_two(float a, float b) {
  PairOf<Out> two;
  from_f32x2(two, make_float2(a, b));
  return reinterpret_cast<uint32_t const&>(two);
}

template <class Acc>
CG_DEVICE void put_box(uint16_t* box, Acc const& acc, int b) {
  Tensor sY = make_tensor(make_smem_ptr(box), YLayout{});  // (Y_HIGH,Y_WIDE)
  const int lane = lane_of(), matrix = lane / 8;
  const auto words = [&](int j, int h) { return narrow_two(acc(4 * j + 2 * h), acc(4 * j + 2 * h + 1)); };
  CUTE_UNROLL
  for (int j = b * Y_WIDE / 8 * (SWAP ? 0 : 1); j < (SWAP ? BN : (b + 1) * Y_WIDE) / 8; j += BN % 16 == 0 ? 2 : 1) {
    if constexpr (SWAP) {
      auto& to = reinterpret_cast<uint128_t&>(sY((j + matrix / 2) * 8 % BN + lane % 8, warp_of() * 16 + matrix % 2 * 8));
      if constexpr (BN % 16 == 0) SM90_U16x8_STSM_T::copy(words(j, 0), words(j, 1), words(j + 1, 0), words(j + 1, 1), to);
      else SM90_U16x4_STSM_T::copy(words(j, 0), words(j, 1), to);
    } else {
      auto& to = reinterpret_cast<uint128_t&>(sY(warp_of() * 16 + matrix % 2 * 8 + lane % 8, (j + matrix / 2) * 8 % Y_WIDE));
      SM90_U32x4_STSM_N::copy(words(j, 0), words(j, 1), words(j + 1, 0), words(j + 1, 1), to);
    }
  }
}

struct Boxes {
  uint16_t* first;  // the warpgroup's own
  int& turn;
};

// Stores run on behind what follows.
template <class Sync>
CG_DEVICE void finish_by_tma(Accumulators const& acc, TmaDescriptor const* map, Place const& place, Boxes const& boxes,
                             Sync const& sync) {
  const bool leads = threadIdx.x % 128 == 0;
  CUTE_UNROLL
  for (int i = 0; i < ATOMS; ++i) {
    CUTE_UNROLL
    for (int b = 0; b < Y_BOXES; ++b, boxes.turn = (boxes.turn + 1) % Y_BUFFERS) {
      uint16_t* box = boxes.first + boxes.turn * (Y_HIGH * Y_WIDE);
      if (leads) tma_store_wait<Y_BUFFERS - 1>();  // what this box had is read
      sync();
      put_box(box, acc(_, i, 0), b);
      tma_store_fence();
      sync();
      if (leads) {
        SM90_TMA_STORE_3D::copy(map, box, place.n + (SWAP ? i * 64 : b * Y_WIDE), place.m + (SWAP ? 0 : i * 64), place.batch);
        tma_store_arrive();
      }
    }
  }
}

}  // namespace

namespace {

constexpr Major LEFT_MAJOR = SWAP ? B_MAJOR : A_MAJOR, RIGHT_MAJOR = SWAP ? A_MAJOR : B_MAJOR;
using Mma = Atom<LEFT_MAJOR, RIGHT_MAJOR>;
using Left = Operand<LEFT_MAJOR, BM, CLUSTER_RIGHT>;
using Right = Operand<RIGHT_MAJOR, BN, CLUSTER_LEFT>;
using Stage = cutlass::PipelineState<STAGES>;

constexpr int STAGE_BYTES = 2 * (LEFTS * Left::SIZE + RIGHTS * Right::SIZE);
constexpr int SUMS = CLUSTER_K > 1 ? (CLUSTER_K - 1) * BM * BN * OPERANDS : 4;  // of the other blocks
constexpr int FINISH_BYTES = TMA_STORE ? CONSUMERS * Y_BUFFERS * Y_HIGH * Y_WIDE * 2 : CONSUMERS * 4 * OPERANDS * PLANE * 4;

struct Shared {
  alignas(1024) uint16_t left[STAGES][LEFTS][Left::SIZE];
  alignas(1024) uint16_t right[STAGES][RIGHTS][Right::SIZE];
  alignas(1024) unsigned char finish[FINISH_BYTES];
  alignas(16) float sums[SUMS];
  Full summed;
  Full full[STAGES];
  Barrier empty[STAGES];
  Barrier turn[2];  // ping-pong: whose main loop it is
  int arrived[CONSUMERS];
};
static_assert(sizeof(Shared) == SMEM, "as the launch has it");

CG_DEVICE void after_last_grid() {
  if constexpr (PDL) asm volatile("griddepcontrol.wait;" ::: "memory");
}

struct Block {
  Shared& s;
  Extents x;
  Tiles tiles;
  int rank;  // in the cluster

  // Its pieces of work, by number: output tiles of its own, or (STREAM_K) those that its share of all k tiles meets.
  CG_DEVICE unsigned share(int block) const { return tiles.begin_of(block, int(gridDim.x)); }
  CG_DEVICE int begin() const {
    return STREAM_K ? int(share(int(blockIdx.x)) / unsigned(tiles.k_tiles)) : int(blockIdx.x) / CLUSTER;
  }
  CG_DEVICE int end() const {
    return STREAM_K ? int((share(int(blockIdx.x) + 1) - 1) / unsigned(tiles.k_tiles)) + 1 : tiles.count();
  }
  CG_DEVICE int step() const { return STREAM_K ? 1 : int(gridDim.x) / CLUSTER; }
  CG_DEVICE Work at(int t) const { return STREAM_K ? tiles.share(t, int(blockIdx.x), int(gridDim.x)) : tiles.at(t); }
  CG_DEVICE int left(Work const& w) const { return (w.left * CLUSTER_LEFT + (ALONG_LEFT ? rank : 0)) * BM; }
  CG_DEVICE int right(Work const& w) const { return (w.right * CLUSTER_RIGHT + (ALONG_LEFT ? 0 : rank)) * BN; }
};

// ---------------------------------------------------------------- steps of the main loop

// f32 factors are planes of bf16: high, middle, low, and high where it is finite. Of the nine products of three the six largest
// count, smallest first over a few tiles of k, whose sums are then promoted: added to f32 accumulators of full precision.
constexpr int PROMOTED = 4;  // tiles of k

struct KStep {
  int kt, a, b;  // tile of k, and the planes
};
CG_DEVICE int steps_of(int k_tiles) { return PLANES ? 6 * k_tiles : k_tiles; }
CG_DEVICE KStep step_of(int s, int k_tiles) {
  if constexpr (!PLANES) return {s, 0, 0};
  const int first = s / (6 * PROMOTED) * PROMOTED, rest = s - 6 * first;
  const int tiles = k_tiles - first < PROMOTED ? k_tiles - first : PROMOTED, term = rest / tiles;
  constexpr int A = 3 | 2 << 2 | 1 << 4 | 3 << 6 | 1 << 8 | 0 << 10, B = 2 | 3 << 2 | 1 << 4 | 1 << 6 | 3 << 8 | 0 << 10;
  return {first + rest - term * tiles, A >> 2 * term & 3, B >> 2 * term & 3};
}

// ---------------------------------------------------------------- producer: one thread

struct Producer : Block {
  Maps maps;

  CG_DEVICE void load_a(int i, Work const& w, KStep const& step) const {
    const int batch = A_BATCHED ? step.a * x.batches + w.batch : step.a;
    const Corner from{SWAP ? right(w) : left(w), (w.first + step.kt) * BK, batch};
    if constexpr (SWAP) Right::load(maps.a, s.full[i], HINT_A, s.right[i][0], from, rank);
    else Left::load(maps.a, s.full[i], HINT_A, s.left[i][0], from, rank);
  }
  CG_DEVICE void load_b(int i, Work const& w, KStep const& step) const {
    const int batch = B_BATCHED ? step.b * x.batches + w.batch : step.b;
    const Corner from{SWAP ? left(w) : right(w), (w.first + step.kt) * BK, batch};
    CUTE_UNROLL
    for (int o = 0; o < OPERANDS; ++o) {
      TmaDescriptor const* map = o == 0 ? maps.b : maps.b1;
      if constexpr (SWAP) Left::load(map, s.full[i], HINT_B, s.left[i][o], from, rank);
      else Right::load(map, s.full[i], HINT_B, s.right[i][o], from, rank);
    }
  }

  // Of the first tile, weights do not wait for the kernel before.
  CG_DEVICE int start(Stage& write) const {
    const Work w = at(begin());
    const int steps = steps_of(w.count), ahead = steps < STAGES ? steps : STAGES;
    CUTE_NO_UNROLL
    for (int i = 0; i < ahead; ++i) {
      s.full[i].arrive_and_expect_tx(STAGE_BYTES);
      load_b(i, w, step_of(i, w.count));
    }
    after_last_grid();
    CUTE_NO_UNROLL
    for (int i = 0; i < ahead; ++i, ++write) load_a(i, w, step_of(i, w.count));
    return ahead;
  }

  CG_DEVICE void run() const {
    Stage write(0, 1, 0);
    int done = 0;
    if (begin() >= end()) return;
    if constexpr (EARLY) done = start(write);
    else after_last_grid();
    CUTE_NO_UNROLL
    for (int t = begin(), last = end(); t < last; t += step(), done = 0) {
      const Work w = at(t);
      CUTE_NO_UNROLL
      for (int n = done; n < steps_of(w.count); n += BURST) {
        Stage free = write;
        for (int u = 0; u < BURST && n + u < steps_of(w.count); ++u, ++free) s.empty[free.index()].wait(free.phase());
        for (int u = 0; u < BURST && n + u < steps_of(w.count); ++u, ++write) {
          const KStep step = step_of(n + u, w.count);
          const int i = write.index();
          s.full[i].arrive_and_expect_tx(STAGE_BYTES);
          load_a(i, w, step);
          load_b(i, w, step);
        }
      }
    }
  }
};

// ---------------------------------------------------------------- consumers: warpgroups

struct Consumer : Block {
  int group;  // warpgroup

  CG_DEVICE int thread() const { return int(threadIdx.x) % TEAM; }
  CG_DEVICE void team_sync() const { cutlass::arch::NamedBarrier::sync(TEAM, PING_PONG ? group : 0); }
  CG_DEVICE void group_sync() const { cutlass::arch::NamedBarrier::sync(128, 3 + group); }
  CG_DEVICE int first_row() const { return PING_PONG ? 0 : group * ATOMS * 64; }

  // One lane a warp, for each block that writes here.
  CG_DEVICE void release(int i) const {
    if constexpr (CLUSTER == 1) {
      if (lane_of() == 0) s.empty[i].arrive();
    } else {
      if (lane_of() < CLUSTER) s.empty[i].arrive(lane_of());
    }
  }

  CG_DEVICE void multiply(Accumulators& acc, int i, SM90::GMMA::ScaleOut& scale) const {
    fence(acc);
    warpgroup_arrive();
    CUTE_UNROLL
    for (int k = 0; k < BK / 16; ++k) {
      CUTE_UNROLL
      for (int a = 0; a < ATOMS; ++a) {
        CUTE_UNROLL
        for (int o = 0; o < OPERANDS; ++o) {
          const auto left = Left::descriptor(s.left[i][SWAP ? o : 0], first_row() + a * 64, k);
          const auto right = Right::descriptor(s.right[i][SWAP ? 0 : o], 0, k);
          wgmma<Mma>(acc(_, a, o), left, right, scale, make_int_sequence<BN / 2>{});
        }
      }
      scale = SM90::GMMA::ScaleOut::One;
    }
    warpgroup_commit_batch();
  }

  // Sums of so many steps: a slot is released once the wgmmas after it are issued and its own are done.
  CG_DEVICE void sum_steps(Accumulators& acc, Stage& read, int steps, bool is_last) const {
    SM90::GMMA::ScaleOut scale = SM90::GMMA::ScaleOut::Zero;
    Stage done = read;
    CUTE_NO_UNROLL
    for (int n = 0; n < steps; ++n, ++read) {
      s.full[read.index()].wait(read.phase());
      multiply(acc, read.index(), scale);
      warpgroup_wait<1>();
      fence(acc);
      if (n > 0) {
        release(done.index());
        ++done;
      }
    }
    if (PING_PONG && is_last && lane_of() == 0) s.turn[group ^ 1].arrive();
    warpgroup_wait<0>();
    fence(acc);
    release(done.index());
  }

  // The main loop of a tile. Tensor cores truncate sums: those of the high planes alone, which are exact where there is one term,
  // are promoted apart.
  CG_DEVICE void sum(Accumulators& acc, Stage& read, int k_tiles) const {
    if constexpr (PLANES) {
      Accumulators part;
      CUTE_UNROLL
      for (int i = 0; i < size(acc); ++i) acc(i) = 0;
      CUTE_NO_UNROLL
      for (int first = 0, is_high = 0; first < k_tiles; first += is_high ? PROMOTED : 0, is_high ^= 1) {
        const int tiles = k_tiles - first < PROMOTED ? k_tiles - first : PROMOTED;
        sum_steps(part, read, is_high ? tiles : 5 * tiles, is_high && first + tiles == k_tiles);
        CUTE_UNROLL
        for (int i = 0; i < size(acc); ++i) acc(i) += part(i);
      }
    } else {
      sum_steps(acc, read, k_tiles, true);
    }
  }

  CG_DEVICE void run(Problem const& p, TmaDescriptor const* map_y, float4* sums, int* counters) const {
    Accumulators acc;
    Stage read;
    int box = 0, turn = PING_PONG && group == 0 ? 1 : 0;  // the first main loop waits for nothing
    after_last_grid();
    int mine = PING_PONG ? group : 0;
    CUTE_NO_UNROLL
    for (int t = begin(), last = end(); t < last; t += step(), mine ^= PING_PONG ? 1 : 0) {
      const Work w = at(t);
      if (mine != 0) {
        read.advance(steps_of(w.count));
        continue;
      }
      if constexpr (PING_PONG) {
        s.turn[group].wait(turn);
        turn ^= 1;
      }
      sum(acc, read, w.count);
      if constexpr (SPLIT) {
        const Partials parts{sums, counters, &s.arrived[group * 128 / TEAM], w.tile * CLUSTER + rank, w.split, w.splits, int(blockIdx.x) - w.split};
        if (w.splits > 1 && !last_of_splits(acc, parts, thread(), [&] { team_sync(); })) continue;
      }
      if constexpr (CLUSTER_K > 1) {
        if (!first_of_cluster(acc, s.sums, s.summed, w.split, thread())) continue;
      }
      const int l = left(w) + first_row(), r = right(w);
      const Place place{w.batch, SWAP ? r : l, SWAP ? l : r};
      if constexpr (TMA_STORE) {
        uint16_t* boxes = reinterpret_cast<uint16_t*>(s.finish) + group * (Y_BUFFERS * Y_HIGH * Y_WIDE);
        finish_by_tma(acc, map_y, place, {boxes, box}, [&] { group_sync(); });
      } else {
        finish(acc, p, x, place, reinterpret_cast<float*>(s.finish) + (group * 4 + warp_of()) * (OPERANDS * PLANE));
      }
    }
    if (TMA_STORE && threadIdx.x % 128 == 0) tma_store_wait<0>();
  }
};

CG_DEVICE void set_up(Shared& s) {
  if (threadIdx.x == 0) {
    CUTE_NO_UNROLL
    for (int i = 0; i < STAGES; ++i) {
      s.full[i].init(1);
      s.empty[i].init(TEAM / 32 * CLUSTER);
    }
    for (int g = 0; g < 2; ++g) s.turn[g].init(4);
    s.summed.init(1);
    if (CLUSTER_K > 1) s.summed.arrive_and_expect_tx(SUMS * 4);
    cutlass::arch::fence_barrier_init();
  }
  if constexpr (CLUSTER * CLUSTER_K == 1) __syncthreads();
  else cluster_sync();
}

}  // namespace


extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) cutegen_3a200142e1c58290(
    const __grid_constant__ cute::TmaDescriptor map_a, const __grid_constant__ cute::TmaDescriptor map_b, const __grid_constant__ cute::TmaDescriptor map_b1, bf16 const* t0, bf16 const* t1, bf16 const* t2, bf16* t3, int64_t a0, int64_t a1, int64_t a2, int64_t splits) {
  extern __shared__ __align__(1024) unsigned char smem[];
  Shared& s = *reinterpret_cast<Shared*>(smem);
  const Extents x{int(1), int(a0), int(a1), int(a2), int(splits), 32};
  const Maps maps{&map_a, &map_b, &map_b1, nullptr};
  const Side left{SWAP ? x.n : x.m, BM * CLUSTER_LEFT}, right{SWAP ? x.m : x.n, BN * CLUSTER_RIGHT};
  const Tiles tiles = Tiles::of(x.batches, left, right, {x.k, BK}, CLUSTER_K > 1 ? CLUSTER_K : x.splits, x.group);
  const Block block{s, x, tiles, CLUSTER == 1 ? 0 : int(block_rank_in_cluster())};
  if constexpr (PDL) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (threadIdx.x == 128 * CONSUMERS) {
    prefetch_tma_descriptor(maps.a);
    prefetch_tma_descriptor(maps.b);
  }
  set_up(s);
  const int group = __shfl_sync(0xffffffffu, int(threadIdx.x) / 128, 0);
  if (group == CONSUMERS) {
    if constexpr (SPECIALISED) cutlass::arch::warpgroup_reg_dealloc<SPECIALISED ? PRODUCER_REGISTERS : 24>();
    if (threadIdx.x == 128 * CONSUMERS) Producer{block, maps}.run();
    __syncwarp();
  } else {
    if constexpr (SPECIALISED) cutlass::arch::warpgroup_reg_alloc<SPECIALISED ? CONSUMER_REGISTERS : 24>();
    const Problem p{t0, t1, t2, t3, Integer(a0)};
    Consumer{block, group}.run(p, maps.y, nullptr, nullptr);
    __syncwarp();
  }
  if constexpr (CLUSTER > 1) cluster_sync();  // others still write to this block, and arrive here
}
