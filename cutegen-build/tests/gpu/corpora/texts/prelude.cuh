// Types and conversions of all texts of the corpora, and the sites that mutants change. Here every site is what it
// should be.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef long long I;
typedef float f32;
typedef __nv_bfloat16 bf16;
typedef __half f16;
typedef signed char i8;
typedef int i32;
#define INDEX ((I)blockIdx.x * blockDim.x + threadIdx.x)

__device__ inline float up(float x) { return x; }
__device__ inline float up(bf16 x) { return __bfloat162float(x); }
__device__ inline float up(f16 x) { return __half2float(x); }
__device__ inline int up(i8 x) { return x; }
__device__ inline int up(i32 x) { return x; }
template <class U> __device__ inline U down(float x) { return U(x); }
template <> __device__ inline bf16 down<bf16>(float x) { return __float2bfloat16_rn(x); }
template <> __device__ inline f16 down<f16>(float x) { return __float2half_rn(x); }
template <class U> __device__ inline U down(int x) { return U(x); }

__device__ inline float minus_infinity() { return __uint_as_float(0xff800000u); }
// the larger one, or NaN
__device__ inline float larger(float a, float b) { return b > a || b != b ? b : a; }
__device__ inline float silu(float a) {
  const float e = expf(-fabsf(a));
  return a * (a < 0 ? e / (1 + e) : 1 / (1 + e));
}

// the sites: an input, a running sum, a result at an index, loop ends, a divisor, an epsilon, a maximum, a combination
template <class V> __device__ inline V IN(V x) { return x; }
template <class V> __device__ inline V ACC(V x) { return x; }
template <class V> __device__ inline V OUT(V x, I) { return x; }
__device__ inline I LO(I x) { return x; }
__device__ inline I HI(I x) { return x; }
__device__ inline float DIV(float x) { return x; }
__device__ inline float EPS(float x) { return x; }
__device__ inline float TOP(float x) { return x; }
template <class V> __device__ inline V ADD(V a, V b) { return a + b; }
