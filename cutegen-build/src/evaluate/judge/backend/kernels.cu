// The gate's own kernels: what the judge does to memory of the device, and what it reads off it. Each does what its
// namesake in Rust does on the host; tests hold the two against each other. Compiled with NVRTC, without headers.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define EACH(i, n) u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < (n); i += u64(gridDim.x) * blockDim.x

// Codes of element types, in the order of `DType::ALL`'s positions that the judge passes.
enum Type : u32 { F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, I32, I64, I4, U8, BOOL, U4 };

static __device__ u64 bits_of(u32 type, const u8* at, u64 i) {
  switch (type) {
    case F64: case I64: {
      u64 word = 0;
      for (int b = 7; b >= 0; --b) word = word << 8 | at[8 * i + b];
      return word;
    }
    case F32: case I32: return u32(at[4 * i]) | u32(at[4 * i + 1]) << 8 | u32(at[4 * i + 2]) << 16 | u32(at[4 * i + 3]) << 24;
    case F16: case BF16: return u32(at[2 * i]) | u32(at[2 * i + 1]) << 8;
    case I4: case U4: return at[i / 2] >> (4 * (i % 2)) & 15;
    default: return at[i];
  }
}

// IEEE-like small floats: `e` exponent bits with this bias, `m` fraction bits; `ieee` ones have infinities.
static __device__ double small_float(u32 word, int e, int m, int bias, bool ieee) {
  const u32 fraction = word & ((1u << m) - 1), exponent = word >> m & ((1u << e) - 1);
  const double sign = word >> (e + m) & 1 ? -1.0 : 1.0;
  const u32 top = (1u << e) - 1;
  if (ieee && exponent == top) return fraction ? __longlong_as_double(0x7ff8000000000000ll) : sign * __longlong_as_double(0x7ff0000000000000ll);
  if (!ieee && exponent == top && fraction == (1u << m) - 1) return __longlong_as_double(0x7ff8000000000000ll);
  const double scale = double(1u << m);
  const int power = exponent ? int(exponent) - bias : 1 - bias;
  const double significand = (exponent ? 1.0 : 0.0) + double(fraction) / scale;
  return sign * significand * __longlong_as_double(i64(power + 1023) << 52);
}

static __device__ double value_of(u32 type, const u8* at, u64 i) {
  const u64 word = bits_of(type, at, i);
  switch (type) {
    case F64: return __longlong_as_double(i64(word));
    case F32: return double(__int_as_float(int(word)));
    case BF16: return double(__int_as_float(int(u32(word) << 16)));
    case F16: return small_float(u32(word), 5, 10, 15, true);
    case F8E4M3: return small_float(u32(word), 4, 3, 7, false);
    case F8E5M2: return small_float(u32(word), 5, 2, 15, true);
    case I8: return double((signed char)(word));
    case I32: return double(int(word));
    case I64: return double(i64(word));
    case I4: return double(int(word) - (word & 8 ? 16 : 0));
    default: return double(word);
  }
}

static __device__ bool is_nan(double x) { return x != x; }
static __device__ bool is_finite(double x) { return x - x == 0.0; }
static __device__ bool is_float(u32 type) { return type <= F8E5M2; }

// Largest of non-negative doubles: their bits are ordered as they are.
static __device__ void raise(u64* most, double value) { if (value > 0.0) atomicMax(most, u64(__double_as_longlong(value))); }

static __device__ u64 mix(u64 seed) { // the finaliser of splitmix64
  u64 z = seed + 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

// The pattern of guards, by the place in the arena; see `arena.rs`.
static __device__ u8 guard_byte(u64 place) {
  const u64 word = 0x7ff1 + mix(place / 2) % 15;
  return u8(place % 2 ? word >> 8 : word);
}

static __device__ u64 guard_word(u64 place) {
  u64 word = 0;
  for (int b = 7; b >= 0; --b) word = word << 8 | guard_byte(place + b);
  return word;
}

// A range of memory that is brought to what is wanted there (COPY, FILL, GUARD) or compared with it (DIFFER, DAMAGE).
// Wanted are the bytes at `from` (COPY, DIFFER), the byte `from` (FILL), or the pattern of guards from this place of the
// arena on (GUARD, DAMAGE). `position` is where its first byte stands among those of all pieces.
enum Kind : u64 { COPY, FILL, GUARD, DIFFER, DAMAGE };
struct Piece { u64 at, from, bytes, kind, position; };

static __device__ bool is_paired(const Piece& piece) { return piece.kind == COPY || piece.kind == DIFFER; }

static __device__ u8 wanted(const Piece& piece, u64 i) {
  if (is_paired(piece)) return ((const u8*)piece.from)[i];
  return piece.kind == FILL ? u8(piece.from) : guard_byte(piece.from + i);
}

// The same of 16 bytes; those at `from` begin at a multiple of 16.
static __device__ ulonglong2 wanted_wide(const Piece& piece, u64 i) {
  if (is_paired(piece)) return *(const ulonglong2*)(piece.from + i);
  ulonglong2 all;
  all.x = piece.kind == FILL ? 0x0101010101010101ull * (piece.from & 255) : guard_word(piece.from + i);
  all.y = piece.kind == FILL ? all.x : guard_word(piece.from + i + 8);
  return all;
}

// Where the first of `bytes` bytes lies that is not as wanted, or ~0.
static __device__ u64 first_apart(const Piece& piece, u64 i, u64 bytes) {
  for (u64 k = i; k < i + bytes; ++k) if (((const u8*)piece.at)[k] != wanted(piece, k)) return k;
  return ~0ull;
}

// Does one piece after another, a block each: 16 bytes at a time where all addresses allow it, and what lies before and
// after these byte by byte. first: position of the first byte that was compared and is not as wanted.
extern "C" __global__ void __launch_bounds__(256, 8) cutegen_pieces(const Piece* pieces, u64 count, u64* first) {
  for (u64 p = blockIdx.x; p < count; p += gridDim.x) {
    const Piece piece = pieces[p];
    const bool writes = piece.kind < DIFFER, wide = !is_paired(piece) || ((piece.at ^ piece.from) & 15) == 0;
    const u64 ahead = (0 - piece.at) & 15, head = wide && ahead < piece.bytes ? ahead : piece.bytes;
    const u64 end = piece.bytes - (piece.bytes - head) % 16;
    u64 found = ~0ull;
    for (u64 i = head + 16 * threadIdx.x; i < end; i += 16 * blockDim.x) {
      ulonglong2* to = (ulonglong2*)(piece.at + i);
      const ulonglong2 is = wanted_wide(piece, i);
      if (writes) *to = is;
      else if ((to->x != is.x || to->y != is.y) && i < found) found = first_apart(piece, i, 16);
    }
    for (u64 k = threadIdx.x; k < piece.bytes - (end - head); k += blockDim.x) {
      const u64 i = k < head ? k : k + (end - head);
      if (writes) ((u8*)piece.at)[i] = wanted(piece, i);
      else if (i < found && first_apart(piece, i, 1) == i) found = i;
    }
    if (found != ~0ull) atomicMin(first, piece.position + found);
  }
}

// What a comparison found; the judge clears it to { ~0, 0, 0, 0, 0, 0 }. wrong, last: the first and the last wrong element.
struct Compared { u64 wrong, judged, not_judged, share, wrongs, last; };

// See `compare.rs`; elements with several right values have `several` set and are judged on the host.
extern "C" __global__ void cutegen_compare(u32 type, const u8* found, const double* value, const double* bound,
                                           const u8* several, u64 n, double threshold, Compared* out) {
  u64 judged = 0, not_judged = 0, wrongs = 0, last = 0;
  double share = 0.0;
  for (EACH(i, n)) {
    double limit = bound[i];
    if (limit < 0.0 || (several && several[i])) continue;
    const double is = value_of(type, found, i), want = value[i];
    if (!is_float(type) && limit >= 9223372036854775807.0) limit = __longlong_as_double(0x7ff0000000000000ll);
    bool right;
    double part = 0.0;
    if (!is_finite(limit)) { ++not_judged; continue; }
    if (is_nan(want)) right = is_nan(is);
    else if (!is_finite(want)) right = is == want;
    else if (is_nan(is)) right = false;
    else if (!is_finite(is)) right = (is > 0.0 ? want : -want) + limit >= threshold;
    else {
      const double error = fabs(is - want);
      right = error <= limit;
      part = error == 0.0 ? 0.0 : error / limit;
    }
    ++judged;
    if (right) share = fmax(share, part);
    else if (!wrongs++) atomicMin(&out->wrong, last = i);
    else last = i;
  }
  if (wrongs) atomicAdd(&out->wrongs, wrongs), atomicMax(&out->last, last);
  if (judged) atomicAdd(&out->judged, judged);
  if (not_judged) atomicAdd(&out->not_judged, not_judged);
  raise(&out->share, share);
}

// first: the first element that no assignment addresses and that does not hold what it held; `before` is null where that
// is poison.
extern "C" __global__ void cutegen_touched(u32 type, const u8* found, const u8* before, u32 poison, const double* bound,
                                           u64 n, u64* first) {
  const u64 word = 0x0101010101010101ull * poison;
  for (EACH(i, n)) {
    if (bound[i] != -1.0) continue;
    const u8* held = before ? before : (const u8*)&word;
    const u64 at = before ? i : (type == I4 || type == U4 ? i % 2 : 0);
    if (bits_of(type, found, i) != bits_of(type, held, at)) atomicMin(first, i);
  }
}

// out: the first element that holds the poison of one of two launches (of both, where repeats may differ) and changed
// between them, and how many do.
extern "C" __global__ void cutegen_unwritten(u32 type, const u8* first, const u8* again, u32 first_poison,
                                             u32 again_poison, u32 both, const double* bound, u64 n, u64* out) {
  const u64 one = 0x0101010101010101ull * first_poison, two = 0x0101010101010101ull * again_poison;
  u64 count = 0;
  for (EACH(i, n)) {
    if (bound[i] == -1.0) continue;
    const u64 a = bits_of(type, first, i), b = bits_of(type, again, i);
    if (a == b) continue;
    const u64 at = type == I4 || type == U4 ? i % 2 : 0;
    const bool held = a == bits_of(type, (const u8*)&one, at), kept = b == bits_of(type, (const u8*)&two, at);
    if (both ? held && kept : held || kept) {
      atomicMin(&out[0], i);
      ++count;
    }
  }
  if (count) atomicAdd(&out[1], count);
}

// first: the first written element that differs between two launches.
extern "C" __global__ void cutegen_repeat(u32 type, const u8* a, const u8* b, const double* bound, u64 n, u64* first) {
  for (EACH(i, n)) if (bound[i] != -1.0 && bits_of(type, a, i) != bits_of(type, b, i)) atomicMin(first, i);
}

// out: elements that are compared, those of them whose bound tells nothing, those that are NaN or infinite, and elements
// that no assignment addresses.
extern "C" __global__ void cutegen_loose(u32 type, const double* value, const double* bound, u64 n, double nothing,
                                         u64* out) {
  u64 written = 0, loose = 0, odd = 0, gaps = 0;
  for (EACH(i, n)) {
    gaps += bound[i] == -1.0;
    if (bound[i] < 0.0) continue;
    ++written;
    const bool tight = !is_float(type) ? bound[i] < 1.0
                       : is_finite(bound[i]) && (!is_finite(value[i]) || bound[i] <= fmax(fabs(value[i]), nothing));
    loose += !tight;
    odd += !is_finite(value[i]);
  }
  if (written) atomicAdd(&out[0], written);
  if (loose) atomicAdd(&out[1], loose);
  if (odd) atomicAdd(&out[2], odd);
  if (gaps) atomicAdd(&out[3], gaps);
}

// What the errors of an output add up to, see `rms.rs`. Sums are taken in no fixed order: the judge asks no more of them
// than a few digits.
struct Moments { u64 count; double squares, value_squares, slack_squares; u64 largest; };

extern "C" __global__ void cutegen_moments(u32 type, const u8* found, const double* value, const double* bound,
                                           const u8* several, u64 n, u32 is_rounded, u32 only_sums, double u, double h,
                                           double u_acc, double most, Moments* out) {
  u64 count = 0;
  double squares = 0.0, value_squares = 0.0, slack_squares = 0.0, largest = 0.0;
  for (EACH(i, n)) {
    const double limit = bound[i], want = value[i];
    if (limit < 0.0 || !is_finite(want) || !is_finite(limit) || (several && several[i])) continue;
    const double is = value_of(type, found, i);
    if (!is_nan(is) && !is_finite(is)) continue;
    const double e = is_rounded ? fmax((limit - u * fabs(want) - h) / (1.0 + u), 0.0) : limit;
    const double roundings = e / (u_acc * fabs(want));
    const double root = sqrt(64.0 + 8.0 * roundings) - 8.0;
    const double share = !only_sums || !is_finite(roundings) ? most : fmin(root / (16.0 + root), most);
    ++count;
    squares += (is - want) * (is - want);
    value_squares += want * want;
    slack_squares += share * e * share * e;
    largest = fmax(largest, e);
  }
  if (!count) return;
  atomicAdd(&out->count, count);
  atomicAdd(&out->squares, squares);
  atomicAdd(&out->value_squares, value_squares);
  atomicAdd(&out->slack_squares, slack_squares);
  raise(&out->largest, largest);
}

// What is written late: so many 16 bytes, from where they were saved. `late.rs` has the same.
struct LatePieces {
  u64 count;
  struct { ulonglong2* to; const ulonglong2* from; u64 words; } each[16];
};

// Lets the kernel behind it start at once, and writes what that one reads only so many nanoseconds after the host has said that
// it launched that one (`turns[0]`). One that does not wait sees what was there before. If the host says nothing for too long,
// `turns[1]` says so.
extern "C" __global__ void __launch_bounds__(256) cutegen_late(const LatePieces pieces, u64 nanoseconds, u64 patience,
                                                               volatile u64* turns, u64 turn) {
#if __CUDA_ARCH__ >= 900  // before it nothing is launched programmatically, and nothing is late
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  u64 began, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
  if (threadIdx.x == 0) {
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (turns[0] < turn && now - began < patience);
    if (now - began >= patience) turns[1] = turn;
  }
  __syncthreads();
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - began < nanoseconds);
  for (u64 p = 0; p < pieces.count; ++p)
    for (EACH(i, pieces.each[p].words)) pieces.each[p].to[i] = pieces.each[p].from[i];
}

// Fills all shared memory that a block can have with NaN, and keeps every multiprocessor for a moment.
extern "C" __global__ void cutegen_scramble(u32 bytes) {
  extern __shared__ u32 shared[];
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) ((volatile u32*)shared)[i] = 0x7ff17ff1u + i % 15;
  __syncthreads();
}

// Fills a frame of local memory with NaN in every thread that a multiprocessor has room for: local memory belongs to such a
// room, and keeps what an earlier launch left there. All blocks are resident, and none leaves before all have begun. Frames of
// several sizes do not begin at one place: one of 2 KB leaves most of another of 1.2 KB, and one of 16 KB nothing (H100).
#define SCRAMBLE_FRAME(BYTES)                                                                         \
  extern "C" __global__ void __launch_bounds__(256) cutegen_scramble_##BYTES(volatile u32* begun) {   \
    volatile u32 frame[BYTES / 4];                                                                    \
    for (u32 i = 0; i < BYTES / 4; ++i) frame[i] = 0x7ff17ff1u + i % 15;                              \
    __syncthreads();                                                                                  \
    if (threadIdx.x == 0) {                                                                           \
      atomicAdd((u32*)begun, 1u);                                                                     \
      while (*begun < gridDim.x) {}                                                                   \
    }                                                                                                 \
    __syncthreads();                                                                                  \
  }
SCRAMBLE_FRAME(16384)
SCRAMBLE_FRAME(32768)
