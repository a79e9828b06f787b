// What the product template uses of a GPU, in one thread of the host: a CUDA thread is a fibre that runs until it must wait for
// its warp or its block, so that a launch runs in one order each time. EMU_ORDER is that order: bit 0: warps and lanes, last
// first; bit 1: asynchronous copies arrive at once, else as late as their wait allows. What is not waited for is wrong in
// some. Instructions of a warp are written from the PTX ISA alone. Shared memory begins as NaN.
#pragma once
#undef _FORTIFY_SOURCE  // fibres jump between stacks
#include "values.hpp"

#include <setjmp.h>
#include <ucontext.h>

struct EmuCopy {  // cp.async: `given` bytes and zeros up to `bytes`
  uint32_t to;
  unsigned char const* from;
  int bytes, given;
};

struct EmuThread {
  ucontext_t begin;
  jmp_buf at;
  bool is_begun, is_done, is_at_barrier;
  uint3 index;
  std::vector<EmuCopy> open;                 // not committed
  std::vector<std::vector<EmuCopy>> groups;  // committed, oldest first
};

struct EmuWarp {
  char const* what = nullptr;  // the instruction that its lanes meet at
  void* given[32];
  int arrived = 0;
  long turn = 0;
};

struct EmuBlock {
  std::vector<EmuThread> threads;
  std::vector<EmuWarp> warps;
  std::vector<unsigned char> memory;
  size_t bytes;
  int arrived = 0;
};

static uint3 threadIdx, blockIdx;
static dim3 gridDim, blockDim;
static EmuBlock* emu_block;
static EmuThread* emu_thread;
static std::function<void()> const* emu_kernel;
static jmp_buf emu_scheduler;
static long emu_steps;  // arrivals and ends, which is all that is progress
static int emu_order() {
  static const int order = getenv("EMU_ORDER") ? atoi(getenv("EMU_ORDER")) : 0;
  return order;
}

// ---------------------------------------------------------------- threads that meet

__attribute__((noinline)) static void emu_yield() {
  if (_setjmp(emu_thread->at) == 0) _longjmp(emu_scheduler, 1);
}

static void emu_syncthreads() {
  ++emu_steps;
  if (++emu_block->arrived == int(emu_block->threads.size())) {
    emu_block->arrived = 0;
    for (EmuThread& thread : emu_block->threads) thread.is_at_barrier = false;
    return;
  }
  emu_thread->is_at_barrier = true;
  while (emu_thread->is_at_barrier) emu_yield();
}

// The lanes of a warp meet with what each gives; the last to come does the instruction for all.
template <class Given, class Do>
void emu_together(char const* what, Given& mine, Do const& all) {
  EmuWarp& warp = emu_block->warps[threadIdx.x / 32];
  if (warp.arrived != 0 && warp.what != what) emu_fail("lanes of a warp meet at different instructions");
  warp.what = what;
  warp.given[threadIdx.x % 32] = &mine;
  ++emu_steps;
  if (++warp.arrived == 32) {
    all(reinterpret_cast<Given* const*>(warp.given));
    warp.arrived = 0;
    ++warp.turn;
    return;
  }
  const long turn = warp.turn;
  while (warp.turn == turn) emu_yield();
}

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  struct Given {
    T value, *to;
    int from;
  };
  T found;
  Given mine{value, &found, int(threadIdx.x % 32) ^ mask};
  emu_together("shfl.xor", mine, [](Given* const* lanes) {
    for (int l = 0; l < 32; ++l) *lanes[l]->to = lanes[lanes[l]->from]->value;
  });
  return found;
}

// ---------------------------------------------------------------- shared memory

static const size_t EMU_ALIGNED = 1024, EMU_BEHIND = 4096;
static const uint32_t EMU_SHARED = 1024;  // where dynamic shared memory begins among shared addresses

static unsigned char* emu_dynamic() {
  return reinterpret_cast<unsigned char*>((uintptr_t(emu_block->memory.data()) + EMU_ALIGNED - 1) & ~uintptr_t(EMU_ALIGNED - 1));
}
static uint32_t emu_shared_address(void const* at) { return EMU_SHARED + uint32_t(static_cast<unsigned char const*>(at) - emu_dynamic()); }
static unsigned char* emu_shared_at(uint32_t address, int bytes) {
  if (address < EMU_SHARED || address - EMU_SHARED + bytes > emu_block->bytes) emu_fail("an access outside of shared memory");
  if (address % bytes != 0) emu_fail("an access to shared memory is not aligned");
  return emu_dynamic() + (address - EMU_SHARED);
}
static void emu_store_shared(uint32_t to, uint4 value) { memcpy(emu_shared_at(to, 16), &value, 16); }

static void emu_arrives(EmuCopy const& copy) {
  unsigned char* to = emu_shared_at(copy.to, copy.bytes);
  memset(to, 0, copy.bytes);
  memcpy(to, copy.from, copy.given);
}
static void emu_copy_async(uint32_t to, void const* from, int bytes, int given) {
  if (uintptr_t(from) % bytes != 0) emu_fail("an asynchronous copy is not aligned");
  if (given < 0 || given > bytes) emu_fail("an asynchronous copy of more than its size");
  const EmuCopy copy{to, static_cast<unsigned char const*>(from), bytes, given};
  emu_shared_at(to, bytes);
  if (emu_order() & 2) emu_arrives(copy);
  else emu_thread->open.push_back(copy);
}
static void emu_copy_commit() {
  emu_thread->groups.push_back(std::move(emu_thread->open));
  emu_thread->open.clear();
}
template <int PENDING>
void emu_copy_wait() {
  auto& groups = emu_thread->groups;
  while (groups.size() > PENDING) {
    for (EmuCopy const& copy : groups.front()) emu_arrives(copy);
    groups.erase(groups.begin());
  }
}

// ---------------------------------------------------------------- matrices

// ldmatrix.m8n8: lane 8 j + r gives the address of row r of matrix j. Of each, lane l gets elements 2 (l % 4) and the next of
// row l / 4; transposed: of column l / 4.
template <int MATRICES, bool TRANSPOSED>
void emu_ldmatrix(uint32_t from, std::initializer_list<uint32_t*> to) {
  struct Given {
    uint32_t from;
    uint32_t* const* to;
  } mine{from, to.begin()};
  emu_together(TRANSPOSED ? "ldmatrix.trans" : "ldmatrix", mine, [](Given* const* lanes) {
    for (int j = 0; j < MATRICES; ++j) {
      uint16_t matrix[8][8];
      for (int r = 0; r < 8; ++r) memcpy(matrix[r], emu_shared_at(lanes[8 * j + r]->from, 16), 16);
      for (int l = 0; l < 32; ++l) {
        const int line = l / 4, pair = l % 4 * 2;
        const uint32_t low = TRANSPOSED ? matrix[pair][line] : matrix[line][pair];
        const uint32_t high = TRANSPOSED ? matrix[pair + 1][line] : matrix[line][pair + 1];
        *lanes[l]->to[j] = low | high << 16;
      }
    }
  });
}

struct EmuBf16 {
  static float value(uint32_t bits) { return emu_bits<float>(bits << 16); }
};
struct EmuF16 {
  static float value(uint32_t bits) {
    const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
    const float special = fraction ? NAN : INFINITY;
    const float size = exponent == 31 ? special : std::ldexp(float(exponent ? 1024 + fraction : fraction), (exponent ? exponent : 1) - 25);
    return bits >> 15 ? -size : size;
  }
};

// mma.m16n8k16.row.col with f32 sums. Register i of A: rows l / 4 + 8 (i % 2), columns 2 (l % 4) + 8 (i / 2) and the next; of B:
// rows 2 (l % 4) + 8 i and the next, column l / 4; of D: row l / 4 + 8 (i / 2), column 2 (l % 4) + i % 2.
template <class Type>
struct EmuMma {
  struct Given {
    uint32_t a[4], b[2];
    float c[4];
    float* d[4];
  };
  static void all(Given* const* lanes) {
    double a[16][16], b[16][8];
    for (int l = 0; l < 32; ++l) {
      const int line = l / 4, pair = l % 4 * 2;
      for (int e = 0; e < 8; ++e) a[line + e / 2 % 2 * 8][pair + e % 2 + e / 4 * 8] = Type::value(lanes[l]->a[e / 2] >> e % 2 * 16 & 0xffff);
      for (int e = 0; e < 4; ++e) b[pair + e % 2 + e / 2 * 8][line] = Type::value(lanes[l]->b[e / 2] >> e % 2 * 16 & 0xffff);
    }
    for (int l = 0; l < 32; ++l) {
      for (int i = 0; i < 4; ++i) {
        const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
        double sum = lanes[l]->c[i];
        for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
        *lanes[l]->d[i] = float(sum);
      }
    }
  }
  static void fma(float& d0, float& d1, float& d2, float& d3, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                  uint32_t b1, float c0, float c1, float c2, float c3) {
    Given mine{{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}, {&d0, &d1, &d2, &d3}};
    emu_together("mma", mine, all);
  }
};

// Two 8-bit floats as halves, and back.
static uint32_t emu_halves(uint32_t pair, int fraction, int bias) {
  uint32_t halves = 0;
  for (int i = 0; i < 2; ++i) {
    const float value = emu_f8_value(pair >> 8 * i & 0xff, fraction, bias);
    for (uint32_t h = 0; h < 0x10000; ++h) {
      if (EmuF16::value(h) == value && std::signbit(EmuF16::value(h)) == std::signbit(value)) halves |= h << 16 * i;
    }
  }
  return halves;
}

// ---------------------------------------------------------------- launches

static const size_t EMU_STACK = 128 << 10;

static void emu_enter() {
  (*emu_kernel)();
  emu_thread->is_done = true;
  ++emu_steps;
  for (;;) emu_yield();
}

__attribute__((noinline)) static void emu_resume(EmuThread& thread) {
  emu_thread = &thread;
  threadIdx = thread.index;
  if (_setjmp(emu_scheduler) != 0) return;
  if (thread.is_begun) _longjmp(thread.at, 1);
  thread.is_begun = true;
  setcontext(&thread.begin);
}

// Lets a warp run until each of its lanes waits for the block or has ended; whether anything happened.
static bool emu_run_warp(EmuBlock& block, int warp) {
  const long before = emu_steps;
  long seen;
  do {
    seen = emu_steps;
    for (int i = 0; i < 32; ++i) {
      EmuThread& thread = block.threads[32 * warp + (emu_order() & 1 ? 31 - i : i)];
      if (!thread.is_done && !thread.is_at_barrier) emu_resume(thread);
    }
  } while (emu_steps != seen);
  return emu_steps != before;
}

static void emu_run_block(EmuBlock& block) {
  const int warps = int(block.warps.size());
  const auto is_over = [&] {
    for (EmuThread const& thread : block.threads) {
      if (!thread.is_done) return false;
    }
    return true;
  };
  while (!is_over()) {
    bool has_moved = false;
    for (int w = 0; w < warps; ++w) has_moved |= emu_run_warp(block, emu_order() & 1 ? warps - 1 - w : w);
    if (!has_moved) emu_fail("threads wait for what never comes");
  }
  for (size_t i = 0; i < EMU_BEHIND; ++i) {
    if (emu_dynamic()[block.bytes + i] != 0xff) emu_fail("a write behind shared memory");
  }
}

// ---------------------------------------------------------------- blocks that meet in memory, one after the other

static void __threadfence() {}
static int atomicAdd(int* at, int by) {
  const int before = *at;
  *at += by;
  return before;
}

static void emu_launch(int grid, int size, int, int, size_t shared, std::function<void()> kernel) {
  static std::vector<unsigned char> stacks;
  stacks.resize(std::max(stacks.size(), size * EMU_STACK));
  emu_kernel = &kernel;
  const int rows = getenv("EMU_GRID_Y") ? atoi(getenv("EMU_GRID_Y")) : 1, columns = grid / rows;
  gridDim = dim3(columns, rows), blockDim = dim3(size);
  for (int turn = 0; turn < grid; ++turn) {
    const int number = emu_order() & 1 ? grid - 1 - turn : turn;
    blockIdx = {unsigned(number % columns), unsigned(number / columns), 0};
    EmuBlock block;
    block.bytes = shared;
    block.memory.assign(shared + EMU_ALIGNED + EMU_BEHIND, 0xff);
    block.warps.resize(size / 32);
    block.threads.resize(size);
    emu_block = &block;
    for (int i = 0; i < size; ++i) {
      EmuThread& thread = block.threads[i];
      thread.index = {unsigned(i), 0, 0};
      getcontext(&thread.begin);
      thread.begin.uc_stack.ss_sp = stacks.data() + i * EMU_STACK;
      thread.begin.uc_stack.ss_size = EMU_STACK;
      thread.begin.uc_link = nullptr;
      makecontext(&thread.begin, emu_enter, 0);
    }
    emu_run_block(block);
  }
}
