// sweep.cu: mma.sync against wgmma against cuBLASLt at small M: weights rotated over 3 x L2, graph replay, finals interleaved.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <functional>
#include <utility>
#include "sweep.hpp"

static __global__ void fill(__nv_bfloat16* to, size_t count, uint32_t seed) {
#if defined(__CUDA_ARCH__)
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    uint32_t h = uint32_t(i) * 2654435761u ^ (seed + uint32_t(i >> 32)) * 2246822519u, sum = 0;
    for (int r = 0; r < 4; ++r) {
      h ^= h >> 15, h *= 2246822519u, h ^= h >> 13, h *= 3266489917u, h ^= h >> 16;
      sum += h & 0xffff;
    }
    to[i] = __float2bfloat16((float(sum) - 131070.f) * (1.f / 37837.f));  // sum of 4 uniform: variance 1
  }
#endif
}
static __global__ void reference(__nv_bfloat16 const* x, __nv_bfloat16 const* w, float* y, int m, int n, int k) {
#if defined(__CUDA_ARCH__)
  const int j = blockIdx.x, lane = threadIdx.x % 32;  // a block has a row of w, a warp every eighth row of x
  for (int i = threadIdx.x / 32; i < m; i += blockDim.x / 32) {
    float sum = 0;
    for (int l = lane * 2; l < k; l += 64) {
      const float2 a = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 const*>(x + size_t(i) * k + l));
      const float2 b = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 const*>(w + size_t(j) * k + l));
      sum += a.x * b.x + a.y * b.y;
    }
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) y[size_t(i) * n + j] = sum;
  }
#endif
}

#define LT(call)                                                 \
  do {                                                           \
    cublasStatus_t s_ = (call);                                  \
    if (s_ != CUBLAS_STATUS_SUCCESS) {                           \
      printf("ERROR cublasLt %d line %d\n", int(s_), __LINE__);  \
      _exit(3);                                                  \
    }                                                            \
  } while (0)

struct Arm {
  std::string kind, name;
  int splits;
  std::function<bool(void*)> run;  // with these weights
  cudaGraphExec_t graph = nullptr;
  float us = 1e30f;
  std::vector<float> times;
};

static cudaEvent_t begin_event, end_event;
static float replay(Arm& a, int launches) {
  CHECK(cudaEventRecord(begin_event, stream()));
  CHECK(cudaGraphLaunch(a.graph, stream()));
  CHECK(cudaEventRecord(end_event, stream()));
  CHECK(cudaEventSynchronize(end_event));
  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
  return ms * 1000 / launches;
}

int main(int argc, char** argv) {
  FILE* json = fopen(argc > 1 ? argv[1] : "sweep.json", "w");
  fprintf(json, "[");
  bool comma = false;
  int l2, device, wrong = 0, rejected = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, device));
  const int sms = sm_count();
  printf("%s, %d SMs, L2 %d MB, %zu points\n", prop.name, sms, l2 >> 20, entries().size());
  CHECK(cudaEventCreate(&begin_event));
  CHECK(cudaEventCreate(&end_event));
  cublasLtHandle_t lt;
  LT(cublasLtCreate(&lt));
  const size_t WORK = size_t(128) << 20, COUNTS = 1 << 16;
  void *work, *lt_work;
  int* count;
  CHECK(cudaMalloc(&work, WORK));
  CHECK(cudaMalloc(&lt_work, WORK));
  CHECK(cudaMalloc(&count, COUNTS * 4));
  CHECK(cudaMemset(count, 0, COUNTS * 4));
  printf("%-13s %4s | %-32s %7s %5s | %-28s %7s %5s | %8s %5s | %5s %5s\n", "n,k", "M", "mma.sync", "us", "TB/s", "wgmma", "us", "TB/s", "cuBLASLt", "TB/s",
         "mma/", "wg/");
  double product_mma = 0, product_wgmma = 0, product_best = 0;
  int cells = 0;
  for (auto [n, k] : std::vector<std::pair<int, int>>{{4096, 4096}, {28672, 4096}, {4096, 14336}}) {
    const size_t wbytes = size_t(n) * k * 2;
    const int copies = std::max<int>(2, int((3 * size_t(l2) + wbytes - 1) / wbytes) + 1);
    std::vector<void*> w(copies);
    for (int c = 0; c < copies; ++c) {
      CHECK(cudaMalloc(&w[c], wbytes));
      fill<<<sms * 8, 256, 0, stream()>>>((__nv_bfloat16*)w[c], size_t(n) * k, 100 + c);
    }
    void *x, *y;
    float* ref;
    CHECK(cudaMalloc(&x, size_t(128) * k * 2));
    CHECK(cudaMalloc(&y, size_t(128) * n * 2));
    CHECK(cudaMalloc(&ref, size_t(128) * n * 4));
    fill<<<sms, 256, 0, stream()>>>((__nv_bfloat16*)x, size_t(128) * k, 1);
    reference<<<n, 256, 0, stream()>>>((__nv_bfloat16*)x, (__nv_bfloat16*)w[0], ref, 128, n, k);
    CHECK(cudaStreamSynchronize(stream()));
    std::vector<float> want(size_t(128) * n);
    std::vector<uint16_t> got(size_t(128) * n);
    CHECK(cudaMemcpy(want.data(), ref, want.size() * 4, cudaMemcpyDeviceToHost));
    for (int m : {1, 8, 16, 64, 128}) {
      std::vector<Arm> arms;
      const int k_ = k, n_ = n;
      for (Entry const& e : entries()) {
        const int fit = m <= 8 ? 8 : m;
        if (e.bt != fit && !(m == 128 && e.bt == 64)) continue;
        const int tiles = ((n + e.bw - 1) / e.bw) * ((m + e.bt - 1) / e.bt);
        for (int splits : {1, 2, 3, 4, 6, 8, 12}) {
          if (splits > 1 && (tiles * (splits - 1) > 6 * sms || (k + e.bk - 1) / e.bk < 4 * splits)) continue;
          if (tiles * splits * 2 < sms && splits < 12 && (k + e.bk - 1) / e.bk >= 8 * splits) continue;
          if (splits > 1 && size_t(tiles) * splits * e.bw * e.bt * 4 > WORK) continue;
          Args a{x, nullptr, y, work, count, m, n_, k_, splits};
          auto run = e.run;
          Arm arm;
          arm.kind = e.kind, arm.name = e.name + " /" + std::to_string(splits), arm.splits = splits;
          arm.run = [a, run](void* weights) mutable {
            a.w = weights;
            run(a);
            return true;
          };
          arms.push_back(arm);
        }
      }
      cublasLtMatmulDesc_t op;
      cublasLtMatrixLayout_t la, lb, lc;
      cublasLtMatmulPreference_t pref;
      LT(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
      cublasOperation_t t = CUBLAS_OP_T, nn = CUBLAS_OP_N;
      LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t));
      LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSB, &nn, sizeof nn));
      LT(cublasLtMatrixLayoutCreate(&la, CUDA_R_16BF, k, n, k));
      LT(cublasLtMatrixLayoutCreate(&lb, CUDA_R_16BF, k, m, k));
      LT(cublasLtMatrixLayoutCreate(&lc, CUDA_R_16BF, n, m, n));
      LT(cublasLtMatmulPreferenceCreate(&pref));
      LT(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORK, sizeof WORK));
      std::vector<cublasLtMatmulHeuristicResult_t> found(32);
      int many = 0;
      LT(cublasLtMatmulAlgoGetHeuristic(lt, op, la, lb, lc, lc, pref, 32, found.data(), &many));
      for (int i = 0; i < many; ++i) {
        Arm arm;
        arm.kind = "cublaslt", arm.name = "heuristic " + std::to_string(i), arm.splits = 0;
        auto algo = found[i].algo;
        arm.run = [=](void* weights) {
          const float one = 1, zero = 0;
          return cublasLtMatmul(lt, op, &one, weights, la, x, lb, &zero, y, lc, y, lc, &algo, lt_work, WORK, stream()) == CUBLAS_STATUS_SUCCESS;
        };
        arms.push_back(arm);
      }
      const int launches = copies * std::max(1, (8 + copies - 1) / copies);
      std::vector<Arm*> good;
      for (Arm& a : arms) {
        CHECK(cudaMemsetAsync(y, 0xff, size_t(m) * n * 2, stream()));
        if (!a.run(w[0])) continue;
        CHECK(cudaStreamSynchronize(stream()));
        CHECK(cudaMemcpy(got.data(), y, size_t(m) * n * 2, cudaMemcpyDeviceToHost));
        const float rms = std::sqrt(float(k));
        int bad = 0;
        for (size_t i = 0; i < size_t(m) * n; ++i) bad += !(std::fabs(from_bf16(got[i]) - want[i]) <= 0.008f * std::fabs(want[i]) + 0.002f * rms);
        if (bad) {
          ++(a.kind == "cublaslt" ? rejected : wrong);
          if (wrong <= 5) printf("WRONG %s %s at %d,%d,%d: %d\n", a.kind.c_str(), a.name.c_str(), m, n, k, bad);
          continue;
        }
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < launches; ++i) a.run(w[i % copies]);
        CHECK(cudaStreamEndCapture(stream(), &graph));
        CHECK(cudaGraphInstantiate(&a.graph, graph, 0));
        cudaGraphDestroy(graph);
        for (int r = 0; r < 4; ++r) {
          const float us = replay(a, launches);
          if (r > 0) a.us = std::min(a.us, us);
        }
        good.push_back(&a);
      }
      std::sort(good.begin(), good.end(), [](Arm* a, Arm* b) { return a->us < b->us; });
      std::vector<Arm*> finals;
      for (char const* kind : {"mma", "wgmma", "cublaslt"}) {
        int some = 0;
        for (Arm* a : good)
          if (a->kind == kind && some++ < 3) finals.push_back(a);
      }
      for (int r = 0; r < 15; ++r)
        for (size_t i = 0; i < finals.size(); ++i) {
          Arm* a = finals[(i + r) % finals.size()];
          a->times.push_back(replay(*a, launches));
        }
      auto median = [](Arm* a) {
        std::sort(a->times.begin(), a->times.end());
        return a->times[a->times.size() / 2];
      };
      Arm* best[3] = {};
      float us[3] = {};
      for (Arm* a : finals) {
        const int i = a->kind == "mma" ? 0 : a->kind == "wgmma" ? 1 : 2;
        const float u = median(a);
        if (!best[i] || u < us[i]) best[i] = a, us[i] = u;
      }
      for (Arm* a : good) {
        fprintf(json, "%s\n{\"n\":%d,\"k\":%d,\"m\":%d,\"kind\":\"%s\",\"point\":\"%s\",\"screen_us\":%.3f,\"median_us\":%.3f}", comma ? "," : "", n, k, m,
                a->kind.c_str(), a->name.c_str(), a->us, a->times.empty() ? 0.f : a->times[a->times.size() / 2]);
        comma = true;
      }
      const double bytes = 2.0 * (double(n) * k + double(m) * k + double(m) * n);
      auto tb = [&](int i) { return us[i] > 0 ? bytes / us[i] * 1e-6 : 0.0; };
      printf("%5d,%-7d %4d | %-32s %7.2f %5.2f | %-28s %7.2f %5.2f | %8.2f %5.2f | %5.3f %5.3f\n", n, k, m, best[0] ? best[0]->name.c_str() : "-", us[0], tb(0),
             best[1] ? best[1]->name.c_str() : "-", us[1], tb(1), us[2], tb(2), us[0] > 0 ? us[2] / us[0] : 0.f, us[1] > 0 ? us[2] / us[1] : 0.f);
      fflush(stdout);
      if (us[0] > 0 && us[1] > 0 && us[2] > 0) {
        product_mma += std::log(us[2] / us[0]), product_wgmma += std::log(us[2] / us[1]), product_best += std::log(us[2] / std::min(us[0], us[1]));
        ++cells;
      }
      for (Arm& a : arms)
        if (a.graph) cudaGraphExecDestroy(a.graph);
      cublasLtMatmulPreferenceDestroy(pref);
      for (auto l : {la, lb, lc}) cublasLtMatrixLayoutDestroy(l);
      cublasLtMatmulDescDestroy(op);
    }
    for (void* d : w) cudaFree(d);
    cudaFree(x), cudaFree(y), cudaFree(ref);
  }
  fprintf(json, "]\n");
  fclose(json);
  if (cells) printf("geomean of cuBLASLt over: mma.sync %.3f, wgmma %.3f, better %.3f; wrong %d, cuBLASLt outside tolerance %d\n", std::exp(product_mma / cells),
                    std::exp(product_wgmma / cells), std::exp(product_best / cells), wrong, rejected);
  return wrong ? 1 : 0;
}
