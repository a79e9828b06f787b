// kit/ptx_wgmma.cuh: the instructions of wgmma.cuh: products that a warpgroup starts, sm_90a.
//
// The 128 threads of a warpgroup call. Sums are of 64 rows; a thread has those that it has of mma.sync's 16 rows a warp.
#include <kit/ptx.cuh>
namespace kit {

// A factor in shared memory, in lines of 128 bytes that are swizzled: `blocks` apart where rows go on in another block.
using MatrixAt = uint64_t;
__device__ __forceinline__ MatrixAt ptx_matrix(SharedAt at, int blocks) {
  return uint64_t(at >> 4 & 0x3fff) | uint64_t(blocks >> 4) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}
__device__ __forceinline__ void ptx_wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void ptx_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until so many groups at most are under way.
template <int GROUPS>
__device__ __forceinline__ void ptx_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(GROUPS) : "memory");
}
// Registers of a product under way, sums or words of its left factor, are neither read nor moved across this.
template <int COUNT>
__device__ __forceinline__ void ptx_wgmma_hold(float* d) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
}

template <int COUNT>
__device__ __forceinline__ void ptx_wgmma_hold(uint32_t* words) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+r"(words[i]) :: "memory");
}

// d = a b over 16 of k, or with `add` d += a b; d: N / 2 sums. `start` takes both factors from shared memory, `start_held`
// the left one from registers.
template <int N>
struct Wgmma;

#define KIT_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define KIT_16(d, i) KIT_4(d, i), KIT_4(d, i + 4), KIT_4(d, i + 8), KIT_4(d, i + 12)

template <>
struct Wgmma<64> {
#define KIT_SUMS \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31}"
#define KIT_START(TYPE) \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %34, 0;\n wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " KIT_SUMS \
               ", %32, %33, p, 1, 1, %35, %36;\n}" : KIT_16(d, 0), KIT_16(d, 16) \
               : "l"(a), "l"(b), "r"(int(add)), "n"(A_K_MAJOR ? 0 : 1), "n"(B_K_MAJOR ? 0 : 1))
  template <bool IS_BF16, bool A_K_MAJOR, bool B_K_MAJOR>
  __device__ __forceinline__ static void start(float* d, MatrixAt a, MatrixAt b, bool add) {
    if constexpr (IS_BF16) KIT_START("bf16");
    else KIT_START("f16");
  }
#undef KIT_START
#define KIT_START(TYPE) \
  asm volatile("{\n .reg .pred p;\n setp.eq.b32 p, 0, 0;\n wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " KIT_SUMS \
               ", {%32, %33, %34, %35}, %36, p, 1, 1, %37;\n}" : KIT_16(d, 0), KIT_16(d, 16) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(B_K_MAJOR ? 0 : 1))
  template <bool IS_BF16, bool B_K_MAJOR>
  __device__ __forceinline__ static void start_held(float* d, uint32_t const (&a)[4], MatrixAt b) {
    if constexpr (IS_BF16) KIT_START("bf16");
    else KIT_START("f16");
  }
#undef KIT_START
#undef KIT_SUMS
};
template <>
struct Wgmma<96> {
#define KIT_SUMS \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}"
#define KIT_START(TYPE) \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %50, 0;\n wgmma.mma_async.sync.aligned.m64n96k16.f32." TYPE "." TYPE " " KIT_SUMS \
               ", %48, %49, p, 1, 1, %51, %52;\n}" : KIT_16(d, 0), KIT_16(d, 16), KIT_16(d, 32) \
               : "l"(a), "l"(b), "r"(int(add)), "n"(A_K_MAJOR ? 0 : 1), "n"(B_K_MAJOR ? 0 : 1))
  template <bool IS_BF16, bool A_K_MAJOR, bool B_K_MAJOR>
  __device__ __forceinline__ static void start(float* d, MatrixAt a, MatrixAt b, bool add) {
    if constexpr (IS_BF16) KIT_START("bf16");
    else KIT_START("f16");
  }
#undef KIT_START
#undef KIT_SUMS
};
template <>
struct Wgmma<128> {
#define KIT_SUMS \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define KIT_START(TYPE) \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %66, 0;\n wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " " KIT_SUMS \
               ", %64, %65, p, 1, 1, %67, %68;\n}" : KIT_16(d, 0), KIT_16(d, 16), KIT_16(d, 32), KIT_16(d, 48) \
               : "l"(a), "l"(b), "r"(int(add)), "n"(A_K_MAJOR ? 0 : 1), "n"(B_K_MAJOR ? 0 : 1))
  template <bool IS_BF16, bool A_K_MAJOR, bool B_K_MAJOR>
  __device__ __forceinline__ static void start(float* d, MatrixAt a, MatrixAt b, bool add) {
    if constexpr (IS_BF16) KIT_START("bf16");
    else KIT_START("f16");
  }
#undef KIT_START
#define KIT_START(TYPE) \
  asm volatile("{\n .reg .pred p;\n setp.eq.b32 p, 0, 0;\n wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " " KIT_SUMS \
               ", {%64, %65, %66, %67}, %68, p, 1, 1, %69;\n}" : KIT_16(d, 0), KIT_16(d, 16), KIT_16(d, 32), KIT_16(d, 48) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(B_K_MAJOR ? 0 : 1))
  template <bool IS_BF16, bool B_K_MAJOR>
  __device__ __forceinline__ static void start_held(float* d, uint32_t const (&a)[4], MatrixAt b) {
    if constexpr (IS_BF16) KIT_START("bf16");
    else KIT_START("f16");
  }
#undef KIT_START
#undef KIT_SUMS
};
template <>
struct Wgmma<192> {
#define KIT_SUMS \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, " \
  "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}"
#define KIT_START(TYPE) \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %98, 0;\n wgmma.mma_async.sync.aligned.m64n192k16.f32." TYPE "." TYPE " " KIT_SUMS \
               ", %96, %97, p, 1, 1, %99, %100;\n}" : KIT_16(d, 0), KIT_16(d, 16), KIT_16(d, 32), KIT_16(d, 48), KIT_16(d, 64), KIT_16(d, 80) \
               : "l"(a), "l"(b), "r"(int(add)), "n"(A_K_MAJOR ? 0 : 1), "n"(B_K_MAJOR ? 0 : 1))
  template <bool IS_BF16, bool A_K_MAJOR, bool B_K_MAJOR>
  __device__ __forceinline__ static void start(float* d, MatrixAt a, MatrixAt b, bool add) {
    if constexpr (IS_BF16) KIT_START("bf16");
    else KIT_START("f16");
  }
#undef KIT_START
#undef KIT_SUMS
};
template <>
struct Wgmma<256> {
#define KIT_SUMS \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, " \
  "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, " \
  "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, " \
  "%118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define KIT_START(TYPE) \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %130, 0;\n wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " " KIT_SUMS \
               ", %128, %129, p, 1, 1, %131, %132;\n}" : KIT_16(d, 0), KIT_16(d, 16), KIT_16(d, 32), KIT_16(d, 48), KIT_16(d, 64), KIT_16(d, 80), KIT_16(d, 96), KIT_16(d, 112) \
               : "l"(a), "l"(b), "r"(int(add)), "n"(A_K_MAJOR ? 0 : 1), "n"(B_K_MAJOR ? 0 : 1))
  template <bool IS_BF16, bool A_K_MAJOR, bool B_K_MAJOR>
  __device__ __forceinline__ static void start(float* d, MatrixAt a, MatrixAt b, bool add) {
    if constexpr (IS_BF16) KIT_START("bf16");
    else KIT_START("f16");
  }
#undef KIT_START
#undef KIT_SUMS
};
#undef KIT_16
#undef KIT_4

}  // namespace kit
