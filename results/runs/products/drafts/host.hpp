// host.hpp: problems of exact small integers, launches, repeats, a late writer, one RESULT line. Exit 0 right, 1 wrong or differing, 3 a CUDA error.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

struct Global {
  char const* kernel;
  bool small = false;
  int launches = 0, wrong = 0, differ = 0, late_wrong = 0, counters = 0;
  double worst = 0;
  std::string where;
};
inline Global g;

inline bool small() { return g.small; }
inline void report() {
  printf("RESULT launches=%d wrong=%d differ=%d late_wrong=%d counters=%d worst=%.2g where=%s\n", g.launches, g.wrong, g.differ, g.late_wrong, g.counters, g.worst,
         g.where.empty() ? "-" : g.where.c_str());
  fflush(stdout);
}
#define CHECK(call)                                                                   \
  do {                                                                                \
    cudaError_t e_ = (call);                                                          \
    if (e_ != cudaSuccess) {                                                          \
      printf("ERROR %s line %d\n", cudaGetErrorName(e_), __LINE__);                   \
      report();                                                                       \
      fflush(stdout);                                                                 \
      _exit(3);                                                                       \
    }                                                                                 \
  } while (0)

inline void start(char const* kernel, int argc, char** argv) {
  g.kernel = kernel;
  for (int i = 1; i < argc; ++i) g.small |= !strcmp(argv[i], "--small");
}
inline int finish() {
  CHECK(cudaDeviceSynchronize());
  report();
  return g.wrong + g.differ + g.late_wrong + g.counters ? 1 : 0;
}
struct Mnk {
  int m, n, k;
};
inline std::vector<Mnk> shapes(std::vector<Mnk> few, std::vector<Mnk> all) { return g.small ? few : all; }

inline cudaStream_t stream() {
  static cudaStream_t s = [] {
    cudaStream_t n;
    CHECK(cudaStreamCreateWithFlags(&n, cudaStreamNonBlocking));
    return n;
  }();
  return s;
}
inline int sm_count() {
  int device, count;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

inline uint16_t to_bf16(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
inline float from_bf16(uint16_t h) {
  uint32_t u = uint32_t(h) << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}

// Integers in [-7, 7]: every sum is exact in f32 and few are in bf16.
struct Problem {
  int m, n, k;
  std::vector<int8_t> hx, hw;
  std::vector<int32_t> ref;
  void *x, *w, *y, *source;
  Problem(int m, int n, int k) : m(m), n(n), k(k), hx(size_t(m) * k), hw(size_t(n) * k), ref(size_t(m) * n) {
    uint32_t s = 12345u + m * 3 + n * 5 + k * 7;
    auto next = [&] { return s = s * 1664525u + 1013904223u, int8_t(int(s >> 16) % 15 - 7); };
    for (auto& v : hx) v = next();
    for (auto& v : hw) v = next();
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        int32_t sum = 0;
        int8_t const *a = &hx[size_t(i) * k], *b = &hw[size_t(j) * k];
        for (int l = 0; l < k; ++l) sum += int32_t(a[l]) * b[l];
        ref[size_t(i) * n + j] = sum;
      }
    auto up = [](std::vector<int8_t> const& v) {
      std::vector<uint16_t> h(v.size());
      for (size_t i = 0; i < v.size(); ++i) h[i] = to_bf16(v[i]);
      void* d;
      CHECK(cudaMalloc(&d, h.size() * 2));
      CHECK(cudaMemcpy(d, h.data(), h.size() * 2, cudaMemcpyHostToDevice));
      return d;
    };
    x = up(hx), source = up(hx), w = up(hw);
    CHECK(cudaMalloc(&y, ref.size() * 4));
  }
  Problem(Problem const&) = delete;
  ~Problem() {
    for (void* d : {x, w, y, source}) cudaFree(d);
  }
};

template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, int threads, int smem, int cluster, bool pdl, A const&... args) {
  cudaLaunchConfig_t c{};
  c.gridDim = grid, c.blockDim = dim3(threads), c.dynamicSmemBytes = smem, c.stream = stream();
  cudaLaunchAttribute a[2];
  c.attrs = a;
  if (cluster > 1) {
    a[c.numAttrs].id = cudaLaunchAttributeClusterDimension;
    a[c.numAttrs].val.clusterDim.x = cluster, a[c.numAttrs].val.clusterDim.y = a[c.numAttrs].val.clusterDim.z = 1;
    ++c.numAttrs;
  }
  if (pdl) {
    a[c.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a[c.numAttrs].val.programmaticStreamSerializationAllowed = 1;
    ++c.numAttrs;
  }
  if (smem > 48 << 10) CHECK(cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  CHECK(cudaLaunchKernelEx(&c, kernel, P(args)...));
}

// Lets its dependents start, and writes late.
static __global__ void late(uint16_t* x, uint16_t const* source, size_t count, int wait_us) {
#if defined(__CUDA_ARCH__)
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  for (int i = 0; i < wait_us; ++i) __nanosleep(1000);
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) x[i] = source[i];
#endif
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, cuuint64_t const*, cuuint64_t const*, cuuint32_t const*,
                            cuuint32_t const*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
inline CUtensorMap tensor_map(void* at, int rows, int cols, int box_rows, int box_cols) {
  static Encode encode = [] {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found));
    return Encode(f);
  }();
  CUtensorMap map;
  cuuint64_t dims[2] = {cuuint64_t(cols), cuuint64_t(rows)}, strides[1] = {cuuint64_t(cols) * 2};
  cuuint32_t box[2] = {cuuint32_t(box_cols), cuuint32_t(box_rows)}, one[2] = {1, 1};
  CUresult r = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, at, dims, strides, box, one, CU_TENSOR_MAP_INTERLEAVE_NONE,
                      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (r != CUDA_SUCCESS) {
    printf("ERROR tensor map %d\n", int(r));
    _exit(3);
  }
  return map;
}

// `run(pdl)` writes p.y. Repeats it over a poisoned y, and behind a late writer of x.
template <class Run>
void test(char const* name, Problem& p, bool f32, Run run) {
  const size_t count = p.ref.size(), bytes = count * (f32 ? 4 : 2);
  std::vector<unsigned char> out(bytes), first;
  const int repeats = g.small ? 3 : 20, lates = g.small ? 1 : 3;
  for (int r = 0; r < repeats + lates; ++r) {
    const bool pdl = r >= repeats;
    CHECK(cudaMemset(p.y, 0xff, bytes));
    if (pdl) {
      CHECK(cudaMemset(p.x, 0x7f, p.hx.size() * 2));
    }
    CHECK(cudaDeviceSynchronize());
    if (pdl) {
      launch(late, dim3(8), 256, 0, 1, false, (uint16_t*)p.x, (uint16_t const*)p.source, p.hx.size(), 50);
    }
    run(pdl);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(out.data(), p.y, bytes, cudaMemcpyDeviceToHost));
    ++g.launches;
    int bad = 0, at = -1;
    double most = 1, worst = 0;
    for (size_t i = 0; i < count; ++i) {
      const float want = f32 ? float(p.ref[i]) : from_bf16(to_bf16(float(p.ref[i])));
      float got;
      if (f32) memcpy(&got, &out[i * 4], 4);
      else {
        uint16_t h;
        memcpy(&h, &out[i * 2], 2);
        got = from_bf16(h);
      }
      most = std::max(most, std::fabs(double(want)));
      if (got == want) continue;
      if (!bad++) at = int(i);
      const double d = std::fabs(double(got) - want);
      worst = std::max(worst, std::isfinite(d) ? d : 1e30);
    }
    if (bad) {
      ++(pdl ? g.late_wrong : g.wrong);
      g.worst = std::max(g.worst, worst / most);
      if (g.where.empty())
        g.where = std::string(name) + "@" + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + ":" + std::to_string(bad) +
                  "/" + std::to_string(count) + "#" + std::to_string(at) + (pdl ? ":late" : "");
      for (char& c : g.where) c = c == ' ' ? '_' : c;
    }
    if (first.empty()) first = out;
    else if (!pdl && first != out) ++g.differ;
  }
}
