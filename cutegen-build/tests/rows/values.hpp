// What every emulation on the host needs: vectors that must be aligned, arithmetic of the device, buffers with guards. Knows
// nothing of threads nor of what a kernel computes.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

static void emu_fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  abort();
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
static long long __float2ll_rz(float x) {
  return x != x ? INT64_MIN : x >= 0x1p63f ? INT64_MAX : x <= -0x1p63f ? INT64_MIN : (long long)x;
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

// ---------------------------------------------------------------- arguments

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
