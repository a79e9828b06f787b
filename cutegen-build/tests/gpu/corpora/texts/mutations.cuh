// What mutants put into the place of a site.
__device__ inline float keep_bits(float x, unsigned dropped) {
  const unsigned u = __float_as_uint(x), half = 1u << (dropped - 1);
  return x - x == 0 ? __uint_as_float((u + half) & ~((1u << dropped) - 1)) : x;
}
__device__ inline float IN_TF32(float x) { return keep_bits(x, 13); }
__device__ inline float IN_BF16(float x) { return keep_bits(x, 16); }
__device__ inline float IN_F16(float x) { return __half2float(__float2half_rn(x)); }
__device__ inline float IN_F8(float x) { return keep_bits(x, 20); }
__device__ inline float IN_F8E5(float x) { return keep_bits(x, 21); }
__device__ inline float IN_ULP(float x) { return x * (1 + 0x1p-8f); }
__device__ inline int IN_EVEN(int x) { return x & ~1; }
__device__ inline int IN_HALF(int x) { return x & 15; }
template <class V> __device__ inline V IN_ABS(V x) { return x < 0 ? -x : x; }
__device__ inline float IN_NUMBER(float x) { return x == x ? x : 0; }
__device__ inline float IN_NORMAL(float x) { return fabsf(x) < 0x1p-14f ? 0 : x; }
__device__ inline float ACC_BF16(float x) { return keep_bits(x, 16); }
__device__ inline float ACC_F16(float x) { return __half2float(__float2half_rn(x)); }
__device__ inline int ACC_I16(int x) { return (short)x; }
__device__ inline int ACC_F32(int x) { return (int)keep_bits((float)x, 13); }
__device__ inline float OUT_GAIN(float x, I) { return x * (1 + 0x1p-6f); }
__device__ inline float OUT_BIAS(float x, I) { return x * (1 + 0x1p-12f); }
__device__ inline float OUT_LOW(float x, I) { return keep_bits(x, 16); }
__device__ inline float OUT_LOWER(float x, I) { return keep_bits(x, 18); }
template <class V> __device__ inline V OUT_RELU(V x, I) { return x < 0 ? 0 : x; }
__device__ inline float OUT_NUMBER(float x, I) { return x == x ? x : 0; }
__device__ inline float OUT_FINITE(float x, I) { return x > 3e38f ? 3e38f : x < -3e38f ? -3e38f : x; }
template <class V> __device__ inline V OUT_FIRST(V x, I at) { return at == 0 ? x + x / 32 + (V)(sizeof(V) == 4 && (V)0.5f == 0) : x; }
__device__ inline int OUT_NEXT(int x, I) { return x + 1; }
__device__ inline int OUT_CLAMP(int x, I) { return x > 32767 ? 32767 : x < -32768 ? -32768 : x; }
template <class V> __device__ inline V OUT_ZERO(V x, I at) { return at == 7 ? 0 : x; }
__device__ inline I LO_NEXT(I x) { return x + 1; }
__device__ inline I HI_LESS(I x) { return x > 0 ? x - 1 : x; }
__device__ inline I HI_MORE(I x) { return x + 1; }
__device__ inline I HI_EVEN(I x) { return x & ~1ll; }
__device__ inline float DIV_LESS(float x) { return x - 1; }
__device__ inline float DIV_MORE(float x) { return x + 1; }
__device__ inline float EPS_ZERO(float) { return 0; }
__device__ inline float EPS_TWICE(float x) { return 2 * x; }
__device__ inline float TOP_ZERO(float x) { return x - x == 0 ? 0 : x; }
template <class V> __device__ inline V ADD_LEFT(V a, V) { return a; }
template <class V> __device__ inline V ADD_LESS(V a, V b) { return a - b; }
