// What the rowwise templates use of a GPU, on threads of the host: one a CUDA thread, barriers where they meet. Blocks
// of a cluster, or of a resident grid, run together, others one after another. Knows nothing of what a kernel computes.
// Accesses of vectors and bulk copies must be aligned as the hardware wants them; shared memory begins as NaN.
#pragma once
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

static void emu_fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  abort();
}

struct EmuBarrier {  // an mbarrier
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0, pending = 0, phase = 0;
  long bytes = 0;
  void settle() {
    if (pending < 0) emu_fail("more arrivals than an mbarrier counts");
    if (pending != 0 || bytes != 0) return;
    phase ^= 1;
    pending = count;
    changed.notify_all();
  }
};

struct EmuWarp {
  pthread_barrier_t barrier;
  unsigned long long slot[32];
};

struct EmuBlock {
  std::vector<unsigned char> fixed, dynamic;
  pthread_barrier_t all, named;
  std::vector<EmuWarp> warps;
  int rank;
};

struct EmuGroup {  // blocks that run together
  std::vector<EmuBlock> blocks;
  pthread_barrier_t all;
  std::mutex mutex;
  std::map<void*, EmuBarrier> barriers;
};

static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 gridDim, blockDim;
static thread_local EmuBlock* emu_block;
static thread_local EmuGroup* emu_group;

static unsigned char* emu_aligned(std::vector<unsigned char>& bytes) {
  return reinterpret_cast<unsigned char*>((uintptr_t(bytes.data()) + 127) & ~uintptr_t(127));
}
template <class T>
T* emu_shared() { return reinterpret_cast<T*>(emu_aligned(emu_block->fixed)); }
static unsigned char* emu_dynamic() { return emu_aligned(emu_block->dynamic); }

// ---------------------------------------------------------------- threads that meet

static void emu_syncwarp() { pthread_barrier_wait(&emu_block->warps[threadIdx.x / 32].barrier); }
static void emu_syncthreads() { pthread_barrier_wait(&emu_block->all); }
static void emu_sync_named() { pthread_barrier_wait(&emu_block->named); }
static void emu_cluster_wait() { pthread_barrier_wait(&emu_group->all); }

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  EmuWarp& warp = emu_block->warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  memcpy(&warp.slot[lane], &value, sizeof value);
  emu_syncwarp();
  memcpy(&value, &warp.slot[lane ^ mask], sizeof value);
  emu_syncwarp();
  return value;
}

static EmuBarrier& emu_barrier(uint64_t& at) {
  std::lock_guard<std::mutex> guard(emu_group->mutex);
  return emu_group->barriers[&at];
}
static void emu_initialize(uint64_t& at, int count) {
  EmuBarrier& b = emu_barrier(at);
  b.count = b.pending = count;
}
static void emu_arrive_with(uint64_t& at, long bytes) {
  EmuBarrier& b = emu_barrier(at);
  std::lock_guard<std::mutex> guard(b.mutex);
  b.bytes += bytes;
  --b.pending;
  b.settle();
}
static void emu_arrive(uint64_t& at) { emu_arrive_with(at, 0); }
static void emu_wait(uint64_t& at, int phase) {
  EmuBarrier& b = emu_barrier(at);
  std::unique_lock<std::mutex> lock(b.mutex);
  b.changed.wait(lock, [&] { return b.phase != phase; });
}
static void emu_bulk_copy(void const* from, uint64_t* at, void* to, int bytes) {
  if (uintptr_t(from) % 16 != 0 || uintptr_t(to) % 16 != 0 || bytes % 16 != 0) emu_fail("a bulk copy is not aligned");
  memcpy(to, from, bytes);
  EmuBarrier& b = emu_barrier(*at);
  std::lock_guard<std::mutex> guard(b.mutex);
  b.bytes -= bytes;
  b.settle();
}
template <class T>
void emu_store_remote(T* at, int rank, T value) {
  const auto offset = reinterpret_cast<unsigned char*>(at) - emu_aligned(emu_block->fixed);
  memcpy(emu_aligned(emu_group->blocks[rank].fixed) + offset, &value, sizeof value);
}

// ---------------------------------------------------------------- memory

template <class S>
void emu_move(S const& from, S& to) {
  if (uintptr_t(&from) % sizeof(S) != 0 || uintptr_t(&to) % sizeof(S) != 0) emu_fail("a vector is not aligned");
  memcpy(static_cast<void*>(&to), static_cast<void const*>(&from), sizeof(S));
}
template <class T>
T __ldcg(T const* at) { return *at; }
template <class T>
void __stcg(T* at, T value) { *at = value; }
static void emu_publish(void* at, uint64_t word) { __atomic_store_n(static_cast<uint64_t*>(at), word, __ATOMIC_RELAXED); }
static uint64_t emu_poll(void const* at) {
  std::this_thread::sleep_for(std::chrono::microseconds(50));  // for those that are waited for
  return __atomic_load_n(static_cast<uint64_t const*>(at), __ATOMIC_RELAXED);
}

// ---------------------------------------------------------------- arithmetic

template <class To, class From>
To emu_bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from, "one size");
  memcpy(&to, &from, sizeof to);
  return to;
}
static float __int_as_float(int x) { return emu_bits<float>(x); }
static float __uint_as_float(unsigned x) { return emu_bits<float>(x); }
static unsigned __float_as_uint(float x) { return emu_bits<unsigned>(x); }
static double __longlong_as_double(long long x) { return emu_bits<double>(x); }
static float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
template <class T>
T rsqrt(T x) { return 1 / std::sqrt(x); }
static float emu_max(float a, float b) { return a != a || b != b ? NAN : a > b ? a : b; }
static float emu_min(float a, float b) { return a != a || b != b ? NAN : a < b ? a : b; }
static int __float2int_rz(float x) {
  return x != x ? 0 : x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : int(x);
}
// 8-bit floats by trying every code.
static float emu_f8_value(unsigned code, int fraction, int bias) {
  const int exponent = int(code & 0x7f) >> fraction, tail = int(code) & ((1 << fraction) - 1);
  const int whole = exponent ? tail | 1 << fraction : tail;
  const float size = std::ldexp(float(whole), (exponent ? exponent : 1) - bias - fraction);
  return code & 0x80 ? -size : size;
}
static unsigned emu_f8(float x, int fraction, int bias, unsigned most) {
  if (x != x) return 0x7f;
  const float size = std::fabs(x);
  unsigned best = 0;
  for (unsigned code = 1; code <= most; ++code) {
    const float left = std::fabs(emu_f8_value(best, fraction, bias) - size);
    const float right = std::fabs(emu_f8_value(code, fraction, bias) - size);
    if (right < left || (right == left && code % 2 == 0)) best = code;
  }
  if (size >= emu_f8_value(most, fraction, bias)) best = most;
  return best | (std::signbit(x) ? 0x80u : 0u);
}

// ---------------------------------------------------------------- launches

// `together` blocks at a time; `named` threads of each meet at the named barrier.
static void emu_launch(int grid, int block, int together, int named, size_t shared, std::function<void()> kernel) {
  for (int first = 0; first < grid; first += together) {
    const int n = std::min(together, grid - first);
    EmuGroup group;
    group.blocks.resize(n);
    pthread_barrier_init(&group.all, nullptr, n * block);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < n; ++rank) {
      EmuBlock& b = group.blocks[rank];
      b.fixed.assign(48 * 1024 + 128, 0xff);
      b.dynamic.assign(shared + 128, 0xff);
      b.rank = rank;
      b.warps.resize(block / 32);
      pthread_barrier_init(&b.all, nullptr, block);
      pthread_barrier_init(&b.named, nullptr, named);
      for (EmuWarp& warp : b.warps) pthread_barrier_init(&warp.barrier, nullptr, 32);
    }
    for (int i = 0; i < n * block; ++i) {
      threads.emplace_back([&, i] {
        threadIdx = {unsigned(i % block), 0, 0};
        blockIdx = {unsigned(first + i / block), 0, 0};
        gridDim = dim3(grid), blockDim = dim3(block);
        emu_block = &group.blocks[i / block];
        emu_group = &group;
        kernel();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// An argument of a launch: whatever the parameter wants.
struct EmuArgument {
  unsigned char* at = nullptr;
  unsigned char* end = nullptr;  // of what may be touched
  int64_t whole = 0;
  float real = 0;
  template <class T>
  operator T*() const { return reinterpret_cast<T*>(at); }
  operator int64_t() const { return whole; }
  operator float() const { return real; }
};

// Pages that nobody may touch: who does dies, having said why.
static const size_t EMU_GUARD = 256, EMU_PAGE = 4096;
static std::vector<unsigned char*> emu_forbidden;
static void emu_faulted(int, siginfo_t* info, void*) {
  const auto at = static_cast<unsigned char*>(info->si_addr);
  static const char said[] = "an access behind a buffer\n";
  bool is_forbidden = false;
  for (unsigned char* page : emu_forbidden) is_forbidden |= at >= page && at < page + EMU_PAGE;
  if (is_forbidden) (void)!write(STDERR_FILENO, said, sizeof said - 1);
  signal(SIGSEGV, SIG_DFL);  // the access is tried again
}
static void emu_forbid(unsigned char* page) {
  if (mprotect(page, EMU_PAGE, PROT_NONE) != 0) emu_fail("a page cannot be guarded");
  emu_forbidden.push_back(page);
  struct sigaction action = {};
  action.sa_sigaction = emu_faulted;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

// A buffer from a file, on 16 bytes, with guards that keep their bytes; a forbidden page begins right behind them.
static EmuArgument emu_buffer(std::string const& path) {
  FILE* file = fopen(path.c_str(), "rb");
  if (!file) emu_fail("a buffer is missing");
  fseek(file, 0, SEEK_END);
  const size_t size = ftell(file), pages = (size + EMU_GUARD + EMU_PAGE - 1) / EMU_PAGE * EMU_PAGE;
  rewind(file);
  void* all = mmap(nullptr, pages + EMU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) emu_fail("no memory");
  EmuArgument a;
  a.end = static_cast<unsigned char*>(all) + pages;
  memset(all, 0xa7, pages);
  emu_forbid(a.end);
  a.at = reinterpret_cast<unsigned char*>(uintptr_t(a.end - size) & ~uintptr_t(15));
  if (fread(a.at, 1, size, file) != size) emu_fail("a buffer is cut off");
  fclose(file);
  a.whole = size;
  return a;
}
static void emu_write(std::string const& path, EmuArgument const& a) {
  bool is_kept = true;
  for (size_t i = 1; i <= EMU_GUARD / 2; ++i) is_kept &= a.at[-long(i)] == 0xa7;
  for (const unsigned char* at = a.at + a.whole; at < a.end; ++at) is_kept &= *at == 0xa7;
  if (!is_kept) emu_fail("a write outside of a buffer");
  FILE* file = fopen(path.c_str(), "wb");
  fwrite(a.at, 1, a.whole, file);
  fclose(file);
}
