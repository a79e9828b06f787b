// The rate of mma.sync.m16n8k16 of bf16 with f32 sums, from registers alone: what no kernel on it exceeds. Random operands,
// independent accumulators, every multiprocessor; a line of JSON with the median of each number of warps and accumulators.
//   nvcc -O3 -std=c++17 -gencode=arch=compute_90,code=sm_90 -o mma_peak mma_peak.cu
#include <algorithm>
#include <cstdint>
#ifndef __CUDACC_RTC__
#include <cstdio>
#include <vector>
#endif

template <int TILES>
__global__ void products(float* out, uint32_t seed, int rounds) {
  uint32_t a[2][4], b[2][2], h = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u ^ seed;
  auto next = [&] {  // two bf16 between 1 and 2 in size, of either sign
    h = h * 1664525u + 1013904223u;
    return (h & 0x807f807fu) | 0x3f803f80u;
  };
  for (int s = 0; s < 2; ++s) {
    for (uint32_t& x : a[s]) x = next();
    for (uint32_t& x : b[s]) x = next();
  }
  float c[TILES][4] = {};
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int t = 0; t < TILES; ++t)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(c[t][0]), "+f"(c[t][1]), "+f"(c[t][2]), "+f"(c[t][3])
                   : "r"(a[t & 1][0]), "r"(a[t & 1][1]), "r"(a[t & 1][2]), "r"(a[t & 1][3]), "r"(b[t / 2 & 1][0]), "r"(b[t / 2 & 1][1]));
  }
  float sum = 0;
  for (auto& tile : c)
    for (float x : tile) sum += x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

#ifndef __CUDACC_RTC__
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); return 1; } } while (0)

template <int TILES>
int measure(float* out, int sms, int warps, bool first) {
  const int rounds = 16384 / TILES * 8 / warps, times = 30;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> rates;
  for (int r = -5; r < times; ++r) {
    CHECK(cudaEventRecord(begin));
    products<TILES><<<sms, 32 * warps>>>(out, r, rounds);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (r >= 0) rates.push_back(2.0 * 16 * 8 * 16 * TILES * rounds * warps * sms / ms * 1e-9);
  }
  std::sort(rates.begin(), rates.end());
  printf("%s{\"warps\": %d, \"tiles\": %d, \"tflops\": [%.2f, %.2f, %.2f]}", first ? "" : ", ", warps, TILES, rates[times / 4], rates[times / 2], rates[times * 3 / 4]);
  return 0;
}

int main() {
  cudaDeviceProp card;
  CHECK(cudaGetDeviceProperties(&card, 0));
  float* out;
  CHECK(cudaMalloc(&out, card.multiProcessorCount * 1024 * sizeof(float)));
  printf("{\"card\": \"%s\", \"multiprocessors\": %d, \"points\": [", card.name, card.multiProcessorCount);
  bool first = true;
  for (int warps : {4, 8, 16}) {
    if (measure<4>(out, card.multiProcessorCount, warps, first) || measure<8>(out, card.multiProcessorCount, warps, false) || measure<16>(out, card.multiProcessorCount, warps, false)) return 1;
    first = false;
  }
  printf("]}\n");
}
#endif
