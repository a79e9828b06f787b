// Element types and functions of the naive CUDA kernel. Every function computes in `acc`.
#define CG_FN __device__ inline
#define CG_METHOD __device__ inline
using int64_t = long long;
using bf16 = __nv_bfloat16;
using f16 = __half;

CG_FN double cg_inf() { return __longlong_as_double(0x7ff0000000000000ll); }
CG_FN float cg_bits_to_float(unsigned bits) { return __uint_as_float(bits); }
CG_FN unsigned cg_float_to_bits(float value) { return __float_as_uint(value); }

CG_FN acc cg_load(bf16 x) { return acc(__bfloat162float(x)); }
CG_FN acc cg_load(f16 x) { return acc(__half2float(x)); }

CG_FN float cg_to_odd(float x);
CG_FN float cg_to_odd(double x);
CG_FN void cg_store(bf16& to, acc x) { to = __float2bfloat16_rn(cg_to_odd(x)); }
CG_FN void cg_store(f16& to, acc x) { to = __float2half_rn(cg_to_odd(x)); }

CG_FN acc cg_rsqrt(acc x) { return rsqrt(x); }

