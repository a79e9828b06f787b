// kit/launch.cuh: programmatic dependent launch; sm_90.
#include <kit/ptx.cuh>
namespace kit {

/// First in every thread, if `pdl = true`; only `constant` inputs may be read before.
__device__ __forceinline__ void wait_for_previous_kernel() { ptx_grid_wait(); }

/// Early, by all threads: the next kernel's blocks may start.
__device__ __forceinline__ void let_next_kernel_start() { ptx_grid_release(); }

}  // namespace kit
