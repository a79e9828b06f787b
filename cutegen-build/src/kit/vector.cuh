// kit/vector.cuh: global memory as floats, 16 bytes an access, with tails.
//
// T is float, __half, __nv_bfloat16 or int8_t.
#include <kit/ptx.cuh>
namespace kit {

/// VECTOR<T>: elements in 16 bytes.
template <class T>
constexpr int VECTOR = 16 / int(sizeof(T));

/// Registers: index by constants or in unrolled loops.
template <int N>
struct Floats {
  float x[N];
  __device__ __forceinline__ float& operator[](int i) { return x[i]; }
  __device__ __forceinline__ float const& operator[](int i) const { return x[i]; }
};

/// Exact.
__device__ __forceinline__ float to_f32(float v) { return v; }
__device__ __forceinline__ float to_f32(__half v) { return __half2float(v); }
__device__ __forceinline__ float to_f32(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ __forceinline__ float to_f32(int8_t v) { return float(v); }

/// To nearest even; int8_t toward zero, saturated, 0 of NaN: the math's cast.
__device__ __forceinline__ void from_f32(float& to, float v) { to = v; }
__device__ __forceinline__ void from_f32(__half& to, float v) { to = __float2half_rn(v); }
__device__ __forceinline__ void from_f32(__nv_bfloat16& to, float v) { to = __float2bfloat16_rn(v); }
__device__ __forceinline__ void from_f32(int8_t& to, float v) {
  to = int8_t(v != v ? 0 : int(fminf(fmaxf(v, -128.0f), 127.0f)));
}

/// NORMAL, or ONCE: not kept in caches.
enum class Cache { NORMAL, ONCE };

// The word of one access.
template <int BYTES>
struct Word;
template <>
struct Word<1> { using type = uint8_t; };
template <>
struct Word<2> { using type = uint16_t; };
template <>
struct Word<4> { using type = uint32_t; };
template <>
struct Word<8> { using type = uint2; };
template <>
struct Word<16> { using type = uint4; };

template <int N, class T>
constexpr int ACCESS_BYTES = N * int(sizeof(T)) < 16 ? N * int(sizeof(T)) : 16;

/// Whether `at` is on N sizeof(T) bytes, 16 at most.
template <int N, class T>
__device__ __forceinline__ bool is_aligned(T const* at) {
  return reinterpret_cast<uintptr_t>(at) % ACCESS_BYTES<N, T> == 0;
}

/// from[0 .. N), where is_aligned; N a power of two.
template <int N, Cache CACHE = Cache::NORMAL, class T>
__device__ __forceinline__ Floats<N> load_vector(T const* from) {
  constexpr int BYTES = ACCESS_BYTES<N, T>, EACH = BYTES / int(sizeof(T));
  using W = typename Word<BYTES>::type;
  Floats<N> x;
#pragma unroll
  for (int first = 0; first < N; first += EACH) {
    W word;
    if constexpr (CACHE == Cache::ONCE && BYTES == 16) word = ptx_load_once(from + first);
    else word = *reinterpret_cast<W const*>(from + first);
    T each[EACH];
    memcpy(each, &word, BYTES);
#pragma unroll
    for (int i = 0; i < EACH; ++i) x[first + i] = to_f32(each[i]);
  }
  return x;
}

/// `count` elements, then `fill`. Any address; count <= 0 reads nothing.
template <int N, Cache CACHE = Cache::NORMAL, class T>
__device__ __forceinline__ Floats<N> load_vector(T const* from, int64_t count, float fill) {
  if (count >= N && is_aligned<N>(from)) return load_vector<N, CACHE>(from);
  Floats<N> x;
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = i < count ? to_f32(from[i]) : fill;
  return x;
}

/// All N, where is_aligned.
template <Cache CACHE = Cache::NORMAL, class T, int N>
__device__ __forceinline__ void store_vector(T* to, Floats<N> const& x) {
  constexpr int BYTES = ACCESS_BYTES<N, T>, EACH = BYTES / int(sizeof(T));
  using W = typename Word<BYTES>::type;
#pragma unroll
  for (int first = 0; first < N; first += EACH) {
    T each[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i) from_f32(each[i], x[first + i]);
    W word;
    memcpy(&word, each, BYTES);
    if constexpr (CACHE == Cache::ONCE && BYTES == 16) ptx_store_streaming(to + first, word);
    else *reinterpret_cast<W*>(to + first) = word;
  }
}

/// The first `count`, any address.
template <Cache CACHE = Cache::NORMAL, class T, int N>
__device__ __forceinline__ void store_vector(T* to, Floats<N> const& x, int64_t count) {
  if (count >= N && is_aligned<N>(to)) return store_vector<CACHE>(to, x);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < count) from_f32(to[i], x[i]);
  }
}

/// step(x, first, count) for this thread's vectors of a row: x is row[first ..), `fill` beyond `count`. Threads take
/// unequal numbers of steps: no barrier inside.
template <int N, Cache CACHE = Cache::NORMAL, class T, class Step>
__device__ __forceinline__ void each_vector(T const* row, int64_t length, int thread, int threads, float fill, Step step) {
  for (int64_t first = int64_t(thread) * N; first < length; first += int64_t(threads) * N) {
    const int64_t left = length - first;
    step(load_vector<N, CACHE>(row + first, left, fill), first, int(left < N ? left : N));
  }
}

}  // namespace kit
