// As much of a GPU as the templates name, on the host: a block's threads are fibers that take turns at every shuffle and
// barrier. Threads of a warp reach the same ones in the same order, so between two turns of a fiber all others have had one.
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#undef __global__
#undef __launch_bounds__
#undef __device__
#undef __forceinline__
#undef __shared__
#define __global__
#define __launch_bounds__(threads)
#define __device__
#define __forceinline__ inline
#define __shared__ static

struct Index { unsigned x, y, z; };
static Index threadIdx, blockIdx, gridDim;

static inline float __uint_as_float(unsigned word) { float x; std::memcpy(&x, &word, 4); return x; }
static inline float __int_as_float(int word) { float x; std::memcpy(&x, &word, 4); return x; }
static inline int __float2int_rz(float x) {
  if (x != x) return 0;
  return x >= 0x1p31f ? 0x7fffffff : (x < -0x1p31f ? -0x7fffffff - 1 : int(x));
}
static inline long long __float2ll_rz(float x) {
  const long long least = -0x7fffffffffffffffll - 1;
  if (x != x) return least;
  return x >= 0x1p63f ? 0x7fffffffffffffffll : (x < -0x1p63f ? least : (long long)(x));
}
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

struct Fiber {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(256 << 10);
  bool done = false;
};
static std::vector<Fiber> fibers;
static std::vector<long long> published;
static std::function<void()> work;
static ucontext_t scheduler;
static unsigned current;

static void take_turns() { const unsigned own = current; swapcontext(&fibers[own].context, &scheduler); }
static void run_one() {
  work();
  fibers[current].done = true;
  take_turns();
}
static void run_block(unsigned threads) {
  if (fibers.size() != threads) fibers = std::vector<Fiber>(threads);
  published.assign(threads, 0);
  for (Fiber& fiber : fibers) {
    fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_one, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (current = 0; current < threads; ++current) {
      if (fibers[current].done) continue;
      threadIdx = {current, 0, 0};
      swapcontext(&scheduler, &fibers[current].context);
      any |= !fibers[current].done;
    }
  }
}
static inline void __syncthreads() { take_turns(); }
template <class T>
static T exchanged(T own, unsigned from) {
  std::memcpy(&published[current], &own, sizeof own);
  take_turns();
  T other;
  std::memcpy(&other, &published[from], sizeof other);
  take_turns();
  return other;
}
template <class T>
static T __shfl_up_sync(unsigned, T v, unsigned by) { return exchanged(v, current % 32 >= by ? current - by : current); }
template <class T>
static T __shfl_xor_sync(unsigned, T v, unsigned by) { return exchanged(v, current ^ by); }
template <class T>
static T __shfl_sync(unsigned, T v, unsigned lane) { return exchanged(v, current / 32 * 32 + lane); }

template <class... A, size_t... I>
static void each_block(void (*kernel)(A...), void** args, unsigned threads, std::index_sequence<I...>) {
  work = [=] { kernel(*reinterpret_cast<A*>(args[I])...); };
  for (unsigned block = 0; block < gridDim.x; ++block) {
    blockIdx = {block, 0, 0};
    run_block(threads);
  }
}
template <class... A>
static void launched(void (*kernel)(A...), void** args, unsigned grid, unsigned block) {
  gridDim = {grid, 1, 1};
  each_block(kernel, args, block, std::index_sequence_for<A...>{});
}

// 8-bit floats by their definition, the nearest by trying all.
static float f8_value(unsigned code, int fraction, int least) {
  const unsigned exponent = (code & 0x7f) >> fraction, tail = code & ((1u << fraction) - 1);
  const float steps = exponent == 0 ? float(tail) : float(tail | 1u << fraction);
  const float value = std::ldexp(steps, int(exponent == 0 ? 1 : exponent) - 1 + least - fraction);
  return code & 0x80 ? -value : value;
}
static float e4m3(unsigned code) { return (code & 0x7f) == 0x7f ? NAN : f8_value(code, 3, -6); }
static float e5m2(unsigned code) {
  if ((code & 0x7f) > 0x7c) return NAN;
  return (code & 0x7f) == 0x7c ? (code & 0x80 ? -INFINITY : INFINITY) : f8_value(code, 2, -14);
}
static unsigned f8_code(float x, float (*value)(unsigned), unsigned most) {
  if (x != x) return 0x7f;
  const float size = std::fabs(x);
  unsigned best = 0;
  for (unsigned code = 1; code <= most; ++code) {
    const float now = std::fabs(value(code) - size), before = std::fabs(value(best) - size);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return (std::signbit(x) ? 0x80 : 0) | (size > value(most) ? most : best);
}
