// elementwise v16u1t256-os: t2[v0:a0] = mul(silu(t0[v0:a0]), t1[v0:a0])
//
// Idea: one flat index space, cut into tiles of THREADS * UNROLL vectors. A thread issues the loads of all tensors for
// all UNROLL vectors before it uses the first, so that an SM has tens of kilobytes in flight; a vector is VEC_BYTES of
// the widest element type. The last tile goes vector by vector, its last elements one by one: any length is right.
// Bound: HBM. Every byte is moved once, at 4.36 TB/s mixed (4.18 for one read and one write), plus 1.3 us to launch. The
// arithmetic must stay below about 13 instructions per 2 bytes moved.
// Prelude of every sm_90a candidate: storage types, conversions in pairs, math on float, cache-hinted copies.
// Errors in the comments are the largest against exact results, in units in the last place of a float.
#include <cute/tensor.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define CG_DEVICE [[maybe_unused]] __device__ __forceinline__

namespace {

// Every output is bf16, and no sum follows sigmoid, silu or gelu_tanh. Rounding to 8 bits hides 2^-16 of the value, 128
// float ulps: so much is left where the slack is smallest, at the tie just above a power of two. So exponentials may be
// the hardware's.
constexpr bool NARROW = true;

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
CG_DEVICE float cg_exp(float x) { return expf(x); }        // 1 ulp
CG_DEVICE float cg_exp2(float x) { return exp2f(x); }      // 2 ulp
CG_DEVICE float cg_expm1(float x) { return expm1f(x); }    // 1 ulp
CG_DEVICE float cg_log(float x) { return logf(x); }        // 1 ulp
CG_DEVICE float cg_log2(float x) { return log2f(x); }      // 1 ulp
CG_DEVICE float cg_log1p(float x) { return log1pf(x); }    // 1 ulp
CG_DEVICE float cg_sqrt(float x) { return sqrtf(x); }      // 0.5 ulp
CG_DEVICE float cg_rsqrt(float x) { return rsqrtf(x); }    // 2 ulp
CG_DEVICE float cg_sin(float x) { return sinf(x); }        // 2 ulp
CG_DEVICE float cg_cos(float x) { return cosf(x); }        // 2 ulp
CG_DEVICE float cg_tanh(float x) { return tanhf(x); }      // 1 ulp
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

CG_DEVICE float cg_gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

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

// ---------------------------------------------------------------- copies

// One access of S bytes, past L1: for data that is used once.
template <class S>
struct LoadOnce {
  using SRegisters = S const[1];
  using DRegisters = S[1];
  __device__ static void copy(S const& src, S& dst) {
    if constexpr (sizeof(S) == 16) {
      uint4& d = reinterpret_cast<uint4&>(dst);
      asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w) : "l"(&src));
    } else if constexpr (sizeof(S) == 8) {
      uint2& d = reinterpret_cast<uint2&>(dst);
      asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2];" : "=r"(d.x), "=r"(d.y) : "l"(&src));
    } else {
      static_assert(sizeof(S) == 4, "4, 8 or 16 bytes");
      uint32_t& d = reinterpret_cast<uint32_t&>(dst);
      asm volatile("ld.global.nc.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(d) : "l"(&src));
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

}  // namespace

template <class S>
struct cute::Copy_Traits<LoadOnce<S>> : OneThread<S> {};
template <class S>
struct cute::Copy_Traits<StoreStreaming<S>> : OneThread<S> {};

namespace {

using namespace cute;

// ---------------------------------------------------------------- configuration

enum class Load { CACHED, ONCE };
enum class Store { CACHED, STREAMING };

constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 1;
constexpr int THREADS = 256;
constexpr Load LOAD = Load::ONCE;
constexpr Store STORE = Store::STREAMING;

// ---------------------------------------------------------------- tensors, by position

using Elements = tuple<bf16, bf16, bf16>;
constexpr bool READ[] = {true, true, false};
constexpr bool WRITTEN[] = {false, false, true};

constexpr int TENSORS = tuple_size<Elements>::value;
template <int I>
using Element = tuple_element_t<I, Elements>;

template <class... T>
constexpr int widest(tuple<T...> const*) {
  int bytes = 0;
  ((bytes = int(sizeof(T)) > bytes ? int(sizeof(T)) : bytes), ...);
  return bytes;
}

constexpr int VEC = VEC_BYTES / widest(static_cast<Elements const*>(nullptr));  // elements of a vector
constexpr int64_t TILE = int64_t(THREADS) * UNROLL * VEC;                       // elements of a tile

static_assert(VEC_BYTES == 16 || VEC_BYTES == 32, "one or two accesses of 16 bytes of the widest type");
static_assert(VEC % 2 == 0, "conversions go in pairs");
static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps");
static_assert(UNROLL >= 1 && UNROLL <= 8, "fragments stay in registers");

// ---------------------------------------------------------------- the math

// v[t] is the element of tensor t: the inputs are read, the outputs assigned.
struct Math {
  float a0;
  __device__ __forceinline__ void operator()(float (&v)[TENSORS]) const {
    v[2] = (cg_silu(v[0]) * v[1]);
  }
};

// ---------------------------------------------------------------- copies of one tensor

// Elements of one access: 16 bytes, or the vector where it is shorter.
template <int I>
constexpr int ACCESS = VEC * sizeof(Element<I>) < 16 ? VEC : 16 / int(sizeof(Element<I>));
template <int I>
using Access = uint_bit_t<ACCESS<I> * int(sizeof(Element<I>)) * 8>;

template <int I>
CG_DEVICE auto load_atom() {
  // a tensor that is also written must not go through the read-only path
  if constexpr (LOAD == Load::ONCE && !WRITTEN[I]) return Copy_Atom<LoadOnce<Access<I>>, Element<I>>{};
  else return Copy_Atom<UniversalCopy<Access<I>>, Element<I>>{};
}
template <int I>
CG_DEVICE auto store_atom() {
  if constexpr (STORE == Store::STREAMING) return Copy_Atom<StoreStreaming<Access<I>>, Element<I>>{};
  else return Copy_Atom<UniversalCopy<Access<I>>, Element<I>>{};
}

// A thread's part of tensor I's tile                    gX: (ACCESS, VEC / ACCESS, UNROLL)
template <int I>
CG_DEVICE auto thread_part(Element<I>* base, int64_t tile) {
  const int64_t first = tile * TILE + int64_t(threadIdx.x) * VEC;
  constexpr int A = ACCESS<I>;
  return make_tensor(make_gmem_ptr(base + first),
                     make_layout(Shape<Int<A>, Int<VEC / A>, Int<UNROLL>>{}, Stride<_1, Int<A>, Int<THREADS * VEC>>{}));
}

// Its registers                                         rX: (ACCESS, VEC / ACCESS, UNROLL)
template <int I>
CG_DEVICE auto fragment() {
  constexpr int A = ACCESS<I>;
  return make_tensor<Element<I>>(make_layout(Shape<Int<A>, Int<VEC / A>, Int<UNROLL>>{}));
}

// ---------------------------------------------------------------- tiles

// Vector u of all fragments, two elements at a time.
template <class Fragments>
CG_DEVICE void compute(Fragments& fragments, int u, Math const& math) {
  CUTE_UNROLL
  for (int p = 0; p < VEC / 2; ++p) {
    float lo[TENSORS], hi[TENSORS];
    const int at = u * (VEC / 2) + p;
    for_each(make_int_sequence<TENSORS>{}, [&](auto i) {
      if constexpr (READ[i]) {
        const float2 pair = to_f32x2(recast<PairOf<Element<i>>>(get<i>(fragments))(at));
        lo[i] = pair.x;
        hi[i] = pair.y;
      }
    });
    math(lo);
    math(hi);
    for_each(make_int_sequence<TENSORS>{}, [&](auto i) {
      if constexpr (WRITTEN[i]) {
        from_f32x2(recast<PairOf<Element<i>>>(get<i>(fragments))(at), make_float2(lo[i], hi[i]));
      }
    });
  }
}

// One tile; `in(u)` says whether the thread's vector u lies in it.
template <class Bases, class In>
CG_DEVICE void tile_of(Bases const& bases, int64_t tile, Math const& math, In const& in) {
  auto parts = transform(make_int_sequence<TENSORS>{}, [&](auto i) { return thread_part<i>(get<i>(bases), tile); });
  auto fragments = transform(make_int_sequence<TENSORS>{}, [&](auto i) { return fragment<i>(); });
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    if (!in(u)) continue;
    for_each(make_int_sequence<TENSORS>{}, [&](auto i) {
      if constexpr (READ[i]) copy(load_atom<i>(), get<i>(parts)(_, _, u), get<i>(fragments)(_, _, u));
    });
  }
  CUTE_UNROLL
  for (int u = 0; u < UNROLL; ++u) {
    if (!in(u)) continue;
    compute(fragments, u, math);
    for_each(make_int_sequence<TENSORS>{}, [&](auto i) {
      if constexpr (WRITTEN[i]) copy(store_atom<i>(), get<i>(fragments)(_, _, u), get<i>(parts)(_, _, u));
    });
  }
}

// The last n % VEC elements, one thread each.
template <class Bases>
CG_DEVICE void rest_of(Bases const& bases, int64_t n, Math const& math) {
  const int64_t at = n / VEC * VEC + threadIdx.x;
  if (at >= n) return;
  float v[TENSORS];
  for_each(make_int_sequence<TENSORS>{}, [&](auto i) {
    if constexpr (READ[i]) v[i] = to_f32(get<i>(bases)[at]);
  });
  math(v);
  for_each(make_int_sequence<TENSORS>{}, [&](auto i) {
    if constexpr (WRITTEN[i]) from_f32(get<i>(bases)[at], v[i]);
  });
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS) cutegen_8a21f7c87d5f4d64(
    bf16* t0, bf16* t1, bf16* t2, int64_t a0) {
  const int64_t n = a0;
  const Math math{float(a0)};
  const auto bases = make_tuple(t0, t1, t2);
  const int64_t whole = n / TILE;
  for (int64_t tile = blockIdx.x; tile * TILE < n; tile += gridDim.x) {
    if (tile < whole) {
      tile_of(bases, tile, math, [](int) { return true; });
    } else {
      const int64_t vectors = (n - whole * TILE) / VEC;
      tile_of(bases, tile, math, [&](int u) { return u * THREADS + int64_t(threadIdx.x) < vectors; });
      rest_of(bases, n, math);
    }
  }
}
