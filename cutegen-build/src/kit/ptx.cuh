// kit/ptx.cuh: instructions without a name in CUDA C++; the other headers wrap them.
//
// All inline assembly of the kit stands here, so that a test replaces this one file to run the others on a CPU. Call the
// wrappers, which say what each needs: math.cuh, vector.cuh, pipeline.cuh, ring.cuh, mma.cuh, launch.cuh.
namespace kit {

// The greater; a NaN on either side wins.
__device__ __forceinline__ float ptx_max_nan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
__device__ __forceinline__ float ptx_min_nan(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

// 2^x within 2 ulp; results below 2^-126 become 0.
__device__ __forceinline__ float ptx_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// 1 / x within 1 ulp.
__device__ __forceinline__ float ptx_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 16 bytes past L1. Not `.nc`: such loads may move ahead of the wait for the kernel that writes there.
__device__ __forceinline__ uint4 ptx_load_once(void const* from) {
  uint4 d;
  asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w) : "l"(from) : "memory");
  return d;
}
// 16 bytes that leave the caches first.
__device__ __forceinline__ void ptx_store_streaming(void* to, uint4 s) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
               :: "l"(to), "r"(s.x), "r"(s.y), "r"(s.z), "r"(s.w) : "memory");
}

// An address in shared memory.
using SharedAt = uint32_t;
__device__ __forceinline__ SharedAt ptx_shared(void const* at) { return SharedAt(__cvta_generic_to_shared(at)); }

// ---------------------------------------------------------------- cp.async, sm_80

// 16 bytes to shared memory: the first `bytes` are read, the rest are zeros.
__device__ __forceinline__ void ptx_copy16(void* to, void const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(ptx_shared(to)), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void ptx_copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int GROUPS>
__device__ __forceinline__ void ptx_copies_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(GROUPS) : "memory");
}

// ---------------------------------------------------------------- matrices, sm_80

// Four matrices of 8 rows of 16 bytes: lane l gives the address of row l % 8 of matrix l / 8. Word i of a lane is of row
// lane / 4 of matrix i, and there of column lane % 4.
__device__ __forceinline__ void ptx_matrices(uint32_t (&to)[4], SharedAt row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(row) : "memory");
}
// The same, each transposed as 8 by 8 elements of 16 bits.
__device__ __forceinline__ void ptx_matrices_transposed(uint32_t (&to)[4], SharedAt row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(row) : "memory");
}
// d += a b: 16 by 8 over 32 bytes of k, of the type of the first argument. f32 counts as tf32.
__device__ __forceinline__ void ptx_mma(__nv_bfloat16, float (&d)[4], uint32_t const (&a)[4], uint32_t const (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void ptx_mma(__half, float (&d)[4], uint32_t const (&a)[4], uint32_t const (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void ptx_mma(float, float (&d)[4], uint32_t const (&a)[4], uint32_t const (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// The nearest of 11 significant bits, ties away from zero, as its bits.
__device__ __forceinline__ uint32_t ptx_tf32(uint32_t bits) {
  uint32_t y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(__uint_as_float(bits)));
  return y;
}

// ---------------------------------------------------------------- mbarriers and bulk copies, sm_90

__device__ __forceinline__ void ptx_barrier_init(uint64_t& at, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ptx_shared(&at)), "r"(count) : "memory");
}
// Makes initialised barriers visible to bulk copies.
__device__ __forceinline__ void ptx_barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void ptx_barrier_arrive(uint64_t& at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(ptx_shared(&at)) : "memory");
}
// Arrives, and makes the phase wait for so many bytes of bulk copies.
__device__ __forceinline__ void ptx_barrier_expect(uint64_t& at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(ptx_shared(&at)), "r"(bytes) : "memory");
}
// Returns when the phase of that parity has completed.
__device__ __forceinline__ void ptx_barrier_wait(uint64_t& at, int parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done) : "r"(ptx_shared(&at)), "r"(parity) : "memory");
  }
}
// Orders what this thread has seen of shared memory before bulk copies that it starts.
__device__ __forceinline__ void ptx_bulk_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void ptx_copy_bulk(void* to, void const* from, int bytes, uint64_t& full) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(ptx_shared(to)), "l"(from), "r"(bytes), "r"(ptx_shared(&full)) : "memory");
}

// ---------------------------------------------------------------- programmatic launches: nothing before sm_90

__device__ __forceinline__ void ptx_grid_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void ptx_grid_release() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace kit
