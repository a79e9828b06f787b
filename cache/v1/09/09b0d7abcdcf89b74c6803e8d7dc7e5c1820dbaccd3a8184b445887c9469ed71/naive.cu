// Naive kernel, printed from the math: one pass per step, temporaries in the workspace.
// Bound by memory traffic of the temporaries and by scalar arithmetic; it exists to be right.
//
// t2[v0:a0] = mul(silu(t0[v0:a0]), t1[v0:a0])
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using acc = float;

// Element types and functions of the naive CUDA kernel. Every function computes in `acc`.
using int64_t = long long;
using bf16 = __nv_bfloat16;
using f16 = __half;

__device__ inline double cg_inf() { return __longlong_as_double(0x7ff0000000000000ll); }

__device__ inline acc cg_load(double x) { return acc(x); }
__device__ inline acc cg_load(float x) { return acc(x); }
__device__ inline acc cg_load(bf16 x) { return acc(__bfloat162float(x)); }
__device__ inline acc cg_load(f16 x) { return acc(__half2float(x)); }

__device__ inline void cg_store(double& to, acc x) { to = double(x); }
__device__ inline void cg_store(float& to, acc x) { to = float(x); }
__device__ inline void cg_store(bf16& to, acc x) { to = __float2bfloat16_rn(float(x)); }
__device__ inline void cg_store(f16& to, acc x) { to = __float2half_rn(float(x)); }

__device__ inline acc cg_max(acc a, acc b) { return a != a || b != b ? a + b : (a > b ? a : b); }
__device__ inline acc cg_min(acc a, acc b) { return a != a || b != b ? a + b : (a < b ? a : b); }
__device__ inline acc cg_abs(acc x) { return fabs(x); }
__device__ inline acc cg_exp(acc x) { return exp(x); }
__device__ inline acc cg_exp2(acc x) { return exp2(x); }
__device__ inline acc cg_expm1(acc x) { return expm1(x); }
__device__ inline acc cg_log(acc x) { return log(x); }
__device__ inline acc cg_log2(acc x) { return log2(x); }
__device__ inline acc cg_log1p(acc x) { return log1p(x); }
__device__ inline acc cg_sqrt(acc x) { return sqrt(x); }
__device__ inline acc cg_rsqrt(acc x) { return rsqrt(x); }
__device__ inline acc cg_sin(acc x) { return sin(x); }
__device__ inline acc cg_cos(acc x) { return cos(x); }
__device__ inline acc cg_tanh(acc x) { return tanh(x); }
__device__ inline acc cg_erf(acc x) { return erf(x); }
// e^-|x| never overflows, so both tails keep their digits.
__device__ inline acc cg_sigmoid(acc x) {
  const acc e = exp(-fabs(x));
  return (x < acc(0) ? e : acc(1)) / (acc(1) + e);
}
__device__ inline acc cg_silu(acc x) { return x * cg_sigmoid(x); }
__device__ inline acc cg_gelu(acc x) { return acc(0.5) * x * (acc(1) + erf(x * acc(0.70710678118654752440))); }
__device__ inline acc cg_gelu_tanh(acc x) {
  const acc inner = acc(0.79788456080286535588) * (x + acc(0.044715) * x * x * x);
  return acc(0.5) * x * (acc(1) + tanh(inner));
}
__device__ inline acc cg_relu(acc x) { return x != x || x > acc(0) ? x : acc(0); }
__device__ inline acc cg_softplus(acc x) { return cg_max(x, acc(0)) + log1p(exp(-fabs(x))); }

extern "C" __global__ void __launch_bounds__(256) cutegen_dd0af1d125a464b7_0(
    const bf16* t0, const bf16* t1, bf16* t2, int64_t a0) {
  const int64_t total = int64_t(1) * a0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    int64_t rest = i;
    const int64_t v0 = rest % a0;
    rest /= a0;
    cg_store(t2[v0], (cg_silu(cg_load(t0[v0])) * cg_load(t1[v0])));
  }
}

