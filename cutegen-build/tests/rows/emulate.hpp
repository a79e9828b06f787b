// What the rowwise templates use of a GPU, on threads of the host: one a CUDA thread, barriers where they meet. Blocks
// of a cluster, or of a resident grid, run together, others one after another. Knows nothing of what a kernel computes.
// Accesses of vectors and bulk copies must be aligned as the hardware wants them; shared memory begins as NaN.
#pragma once
#include "values.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <pthread.h>
#include <thread>

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

static void emu_publish(void* at, uint64_t word) { __atomic_store_n(static_cast<uint64_t*>(at), word, __ATOMIC_RELAXED); }
static uint64_t emu_poll(void const* at) {
  std::this_thread::sleep_for(std::chrono::microseconds(50));  // for those that are waited for
  return __atomic_load_n(static_cast<uint64_t const*>(at), __ATOMIC_RELAXED);
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
