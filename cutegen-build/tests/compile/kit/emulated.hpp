// What the kit's headers use of a GPU, on the host: a block's threads are fibers, each of which runs until it waits. By seed the
// next one is drawn at random, or those of one warp go first as long as they can, so that what no barrier orders comes in any
// order. Asynchronous copies happen at once or as late as they may, by draw. Threads that wait for each other in vain are a failure. Not here: weak memory order, time.
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#undef __global__
#undef __launch_bounds__
#undef __device__
#undef __forceinline__
#undef __shared__
#define __global__
#define __launch_bounds__(...)
#define __device__
#define __forceinline__ inline
#define __shared__ static

struct Index { unsigned x, y, z; };
static Index threadIdx, blockIdx, blockDim, gridDim;

static inline float __int_as_float(int word) { float x; std::memcpy(&x, &word, 4); return x; }

struct Fiber {
  ucontext_t context;  // where it begins
  jmp_buf place;       // where it goes on
  std::vector<char> stack = std::vector<char>(64 << 10);
  bool begun = false, done = false;
  std::function<bool()> waits_for;  // nothing: it can run
};
struct Meeting {  // of threads at a barrier
  unsigned arrived = 0, round = 0;
};
struct MBarrier {
  int count = 0, pending = 0, parity = 0;
  long bytes = 0;
};
struct Copy {
  void* to;
  void const* from;
  size_t bytes;
  uint64_t* barrier;  // of a bulk copy
  unsigned thread, group;
};

static std::vector<Fiber> fibers;
static std::vector<Meeting> warps;
static std::vector<long long> published;
static Meeting block;
static std::map<uint64_t*, MBarrier> barriers;
static std::vector<Copy> copies;           // under way
static std::vector<unsigned> groups;       // committed groups of cp.async, a thread
static std::mt19937 draw;
static jmp_buf scheduler;
static unsigned current, first_warp;  // which goes first, behind the last where none does
static std::function<void()> work;

static void fail(const char* what) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(3);  // not through destructors: it runs on a stack that they free
}
static void wait_until(std::function<bool()> met) {
  if (met()) return;
  Fiber& own = fibers[current];
  own.waits_for = std::move(met);
  if (_setjmp(own.place) == 0) _longjmp(scheduler, 1);  // swapcontext would ask the system for each
}
static void meet(Meeting& at, unsigned threads) {
  const unsigned round = at.round;
  if (++at.arrived == threads) at.arrived = 0, ++at.round;
  wait_until([&at, round] { return at.round != round; });
}
static void settle(MBarrier& b) {
  if (b.pending < 0) fail("more arrivals than an mbarrier counts");
  if (b.pending == 0 && b.bytes == 0) b.parity ^= 1, b.pending = b.count;
}
static void finish(size_t at) {
  const Copy copy = copies[at];
  copies.erase(copies.begin() + at);
  std::memcpy(copy.to, copy.from, copy.bytes);
  if (copy.barrier == nullptr) return;
  MBarrier& b = barriers[copy.barrier];
  b.bytes -= long(copy.bytes);
  settle(b);
}
static void start(Copy copy) {
  copies.push_back(copy);
  if (draw() % 2 == 0) finish(copies.size() - 1);
}

static void run_one() {
  work();
  fibers[current].done = true;
  _longjmp(scheduler, 1);
}
static void begin(Fiber& fiber) {
  fiber.begun = fiber.done = false;
  fiber.waits_for = nullptr;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, run_one, 0);
}
static void go_on(Fiber& fiber) {
  if (_setjmp(scheduler) != 0) return;
  if (fiber.begun) _longjmp(fiber.place, 1);
  fiber.begun = true;
  setcontext(&fiber.context);
}
// One that can run, drawn; the number of fibers where none can.
static unsigned next_fiber(bool& all_done) {
  const unsigned n = unsigned(fibers.size()), first = first_warp * 32 < n ? first_warp * 32 : draw() % n;
  all_done = true;
  for (unsigned i = 0; i < n; ++i) {
    Fiber& fiber = fibers[(first + i) % n];
    all_done = all_done && fiber.done;
    if (!fiber.done && (!fiber.waits_for || fiber.waits_for())) return (first + i) % n;
  }
  return n;
}
// Runs `kernel` for a block of so many threads, in the order that a seed draws.
static void run_block(Index dim, unsigned seed, std::function<void()> kernel) {
  const unsigned threads = dim.x * dim.y * dim.z;
  blockDim = dim;
  draw.seed(seed);
  first_warp = draw() % (threads / 16);
  if (fibers.size() != threads) fibers = std::vector<Fiber>(threads);
  warps.assign(threads / 32, {});
  published.assign(threads, 0);
  groups.assign(threads, 0);
  block = {};
  barriers.clear();
  copies.clear();
  work = std::move(kernel);
  for (Fiber& fiber : fibers) begin(fiber);
  for (;;) {
    bool all_done;
    current = next_fiber(all_done);
    if (all_done) break;
    if (current < threads) {
      fibers[current].waits_for = nullptr;
      threadIdx = {current % dim.x, current / dim.x % dim.y, current / dim.x / dim.y};
      go_on(fibers[current]);
    } else if (!copies.empty() && copies[0].barrier != nullptr) {
      finish(0);
    } else {
      fail("threads wait for each other in vain");
    }
  }
}

static inline void __syncthreads() { meet(block, unsigned(fibers.size())); }
static inline unsigned __shfl_xor_sync(unsigned, unsigned own, int mask) {
  published[current] = own;
  meet(warps[current / 32], 32);
  const unsigned other = unsigned(published[current ^ unsigned(mask)]);
  meet(warps[current / 32], 32);
  return other;
}
static inline unsigned __shfl_up_sync(unsigned, unsigned own, unsigned by) {
  published[current] = own;
  meet(warps[current / 32], 32);
  const unsigned other = current % 32 >= by ? unsigned(published[current - by]) : own;
  meet(warps[current / 32], 32);
  return other;
}

static inline int __syncthreads_or(int own) {
  static int any[2];  // by round: one is set while the other is read
  int& of_round = any[block.round % 2];
  if (own != 0) of_round = 1;
  any[(block.round + 1) % 2] = 0;
  __syncthreads();
  return of_round;
}
static inline float __shfl_sync(unsigned, float own, int lane) {
  std::memcpy(&published[current], &own, 4);
  meet(warps[current / 32], 32);
  float other;
  std::memcpy(&other, &published[current / 32 * 32 + unsigned(lane)], 4);
  meet(warps[current / 32], 32);
  return other;
}

static inline bool __any_sync(unsigned, bool own) {
  published[current] = own;
  meet(warps[current / 32], 32);
  bool any = false;
  for (unsigned lane = 0; lane < 32; ++lane) any = any || published[current / 32 * 32 + lane] != 0;
  meet(warps[current / 32], 32);
  return any;
}

// What ptx.cuh has, by its meaning.
namespace kit {
static void aligned(void const* at, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(at) % bytes != 0) fail("an access is not aligned");
}
inline float ptx_max_nan(float a, float b) { return a != a || b != b ? NAN : a > b ? a : b; }
inline float ptx_min_nan(float a, float b) { return a != a || b != b ? NAN : a < b ? a : b; }
inline float ptx_exp2(float x) { return std::exp2(x) < 0x1p-126f ? 0.0f : std::exp2(x); }
inline float ptx_reciprocal(float x) { return 1.0f / x; }
inline uint4 ptx_load_once(void const* from) {
  aligned(from, 16);
  uint4 x;
  std::memcpy(&x, from, 16);
  return x;
}
inline void ptx_store_streaming(void* to, uint4 x) {
  aligned(to, 16);
  std::memcpy(to, &x, 16);
}
inline void ptx_copy16(void* to, void const* from, int bytes) {
  aligned(to, 16);
  aligned(from, 16);
  std::memset(static_cast<char*>(to) + bytes, 0, 16 - size_t(bytes));
  start({to, from, size_t(bytes), nullptr, current, groups[current]});
}
inline void ptx_copies_commit() { ++groups[current]; }
template <int GROUPS>
inline void ptx_copies_wait() {
  for (size_t at = copies.size(); at-- > 0;) {
    const Copy& copy = copies[at];
    if (copy.barrier == nullptr && copy.thread == current && copy.group + GROUPS < groups[current]) finish(at);
  }
}
inline void ptx_barrier_init(uint64_t& at, int count) { barriers[&at] = {count, count, 0, 0}; }
inline void ptx_barrier_init_fence() {}
inline void ptx_barrier_arrive(uint64_t& at) {
  MBarrier& b = barriers.at(&at);
  --b.pending;
  settle(b);
}
inline void ptx_barrier_expect(uint64_t& at, int bytes) {
  MBarrier& b = barriers.at(&at);
  b.bytes += bytes;
  --b.pending;
  settle(b);
}
inline void ptx_barrier_wait(uint64_t& at, int parity) {
  MBarrier& b = barriers.at(&at);
  wait_until([&b, parity] { return b.parity != parity; });
}
inline void ptx_bulk_fence() {}
inline void ptx_copy_bulk(void* to, void const* from, int bytes, uint64_t& full) {
  aligned(to, 16);
  aligned(from, 16);
  if (bytes % 16 != 0) fail("a bulk copy is not of whole 16 bytes");
  start({to, from, size_t(bytes), &full, current, 0});
}
inline void ptx_grid_wait() {}
inline void ptx_grid_release() {}
}  // namespace kit
