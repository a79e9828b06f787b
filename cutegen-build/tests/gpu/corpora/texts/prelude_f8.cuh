// The same for 8-bit floats, whose header is long.
#include <cuda_fp8.h>
typedef __nv_fp8_e4m3 f8e4m3;
__device__ inline float up(f8e4m3 x) { return float(x); }
