// kit/math.cuh: functions of float with the math's NaN rules.
//
// CUDA's expf, logf, tanhf are right as they are; fmaxf and fminf drop a NaN.
#include <kit/ptx.cuh>
namespace kit {

/// +inf.
__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

/// A NaN on either side wins.
__device__ __forceinline__ float max_nan(float a, float b) { return ptx_max_nan(a, b); }
__device__ __forceinline__ double max_nan(double a, double b) { return a != a || a > b ? a : b; }
template <class T>
__device__ __forceinline__ T max_nan(T a, T b) {
  return a > b ? a : b;
}

/// Likewise.
__device__ __forceinline__ float min_nan(float a, float b) { return ptx_min_nan(a, b); }
__device__ __forceinline__ double min_nan(double a, double b) { return a != a || a < b ? a : b; }
template <class T>
__device__ __forceinline__ T min_nan(T a, T b) {
  return a < b ? a : b;
}

/// A NaN stays.
__device__ __forceinline__ float relu(float x) { return max_nan(x, 0.0f); }

/// FAST: 5 + 0.7 |x| ulp, for 8-bit outputs; else expf.
template <bool FAST = false>
__device__ __forceinline__ float exponential(float x) {
  if constexpr (FAST) {
    const float root = ptx_exp2(x * 0x1.715476p-1f);  // squared, so that nothing is flushed too early
    return root * root;
  } else {
    return expf(x);
  }
}

/// 4 ulp.
__device__ __forceinline__ float sigmoid(float x) {
  const float e = expf(-fabsf(x)), r = 1.0f / (1.0f + e);
  return x < 0.0f ? e * r : r;
}

/// x sigmoid(x).
__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }

/// By erff.
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

/// By tanhf.
__device__ __forceinline__ float gelu_tanh(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + tanhf(u));
}

/// Without overflow.
__device__ __forceinline__ float softplus(float x) { return max_nan(x, 0.0f) + log1pf(expf(-fabsf(x))); }

}  // namespace kit
