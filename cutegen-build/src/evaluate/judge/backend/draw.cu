// Inputs drawn on the device: the bytes that `inputs.rs` draws on the host, see there for what each distribution is for.
// A thread draws a piece from one end to the other, for its generator cannot be entered in the middle. Appended to
// `kernels.cu`.

// In the order of `Distribution`.
enum Distribution : u32 { NORMAL, UNIFORM, SMALL, LARGE, CANCELLING, ONE_HOT_FIRST, ONE_HOT_LAST, INTEGERS, LARGE_MEAN, SPECIALS, NEAR_ONE, WIDE_INTEGERS, LOG_UNIFORM, PAIRED_SPECIALS, ROW_SHAPES };

// xorshift64*
struct Random {
  u64 state;

  static __device__ Random of(u64 stem, u64 stream) {
    const u64 mixed = mix(stem ^ stream);
    return { mixed ? mixed : 1 };
  }

  __device__ u64 next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
  }

  __device__ double unit() { return double(next() >> 11) * 0x1p-53; }

  // Below `span`.
  __device__ u64 below(u64 span) { return __umul64hi(next(), span); }

  __device__ double normal() {
    const u64 word = next();
    const u64 sum = (word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48);
    return ((double(sum) + 2.0) / 65536.0 - 2.0) * 1.7320508075688772; // the root of 3
  }
};

// The small float nearest to a value that is no NaN, ties to even, with `e` exponent and `m` fraction bits; beyond its
// largest, the word `most`.
static __device__ u32 small_word(double value, int e, int m, int bias, u32 most) {
  const u64 word = u64(__double_as_longlong(value)), sign = word >> 63 << (e + m);
  const int exponent = int(word >> 52 & 2047) - 1023;
  const int below = exponent < 1 - bias ? 1 - bias - exponent : 0, low = 52 - m + below;
  if (low > 53) return u32(sign);
  const u64 significand = (word & ((1ull << 52) - 1)) | 1ull << 52, rest = significand & ((1ull << low) - 1), half = 1ull << (low - 1);
  u64 kept = significand >> low;
  kept += rest > half || (rest == half && kept & 1);
  const u64 magnitude = kept + (u64(below ? 0 : exponent + bias - 1) << m);
  return u32(sign) | (magnitude < most ? u32(magnitude) : most);
}

// Stores a value as element `i`, rounded as `element.rs` does: 8-bit floats saturate.
static __device__ void put(u32 type, u8* at, u64 i, double value) {
  const bool odd = is_nan(value);
  switch (type) {
    case F64: ((double*)at)[i] = odd ? __longlong_as_double(0x7ff8000000000000ll) : value; return;
    case F32: ((float*)at)[i] = odd ? __int_as_float(0x7fc00000) : __double2float_rn(value); return;
    case F16: ((u16*)at)[i] = u16(odd ? 0x7e00 : small_word(value, 5, 10, 15, 0x7c00)); return;
    case BF16: ((u16*)at)[i] = u16(odd ? 0x7fc0 : small_word(value, 8, 7, 127, 0x7f80)); return;
    case F8E4M3: at[i] = u8(odd ? 0x7f : small_word(value, 4, 3, 7, 0x7e)); return;
    default: at[i] = u8(odd ? 0x7e : small_word(value, 5, 2, 15, 0x7b)); return;
  }
}

static __device__ double wide(Random& random, i64 most) {
  const double magnitude = double(1 + random.below(u64(most)));
  return random.unit() < 0.5 ? magnitude : -magnitude;
}

static __device__ double log_uniform(Random& random, i64 least, i64 most) {
  const u64 word = random.next();
  const i64 exponent = least + ((i64(word >> 52 & 0x7ff) * (most - least + 1)) >> 11);
  return __longlong_as_double(i64((word & (1ull << 63 | ((1ull << 52) - 1))) | u64(exponent + 1023) << 52));
}

static __device__ double shaped(Random& random, u64 stem, u64 line, u64 column) {
  const u64 word = random.next(), own = mix(stem ^ mix(line));
  switch (own >> 62) {
    case 0: return double(own & 0xffff) / 8192.0 - 4.0;
    case 1: return ((mix(own ^ column / 2) ^ column) & 1) == 0 ? 1.0 : -1.0;
    case 2: return 1.0 / (0.015625 + double(word >> 11) * 0x1p-53);
    default: return word >> 63 == 0 ? 0.0 : -0.0;
  }
}

// The value at `column` of row `line`, behind `previous`.
static __device__ double drawn(u32 distribution, Random& random, u64 stem, u32 position, u64 line, u64 column, u64 row, double previous, double number, i64 whole) {
  switch (distribution) {
    case UNIFORM: return random.unit();
    case SMALL: case LARGE: return random.normal() * number;
    case CANCELLING:
      if (column % 2 == 0) return random.normal();
      return position % 2 ? previous : -previous * (1.0 + (random.unit() - 0.5) / 4.0);
    case ONE_HOT_FIRST: case ONE_HOT_LAST: {
      const double value = random.normal();
      return column == (distribution == ONE_HOT_FIRST ? 0 : row - 1) || position ? value : 0.0;
    }
    case INTEGERS: return double(i64(random.below(u64(2 * whole + 1))) - whole);
    case LARGE_MEAN: return random.normal() + number;
    case NEAR_ONE: return 0.9375 + random.unit() / 8.0;
    case LOG_UNIFORM: return whole ? log_uniform(random, whole, i64(number)) : random.normal();
    case ROW_SHAPES: return position ? random.normal() : shaped(random, stem, line, column);
    case WIDE_INTEGERS: return wide(random, random.unit() * number < 64.0 ? whole : 1);
    default: return random.normal();
  }
}

// n elements at `at`, a piece of 65536 a thread.
extern "C" __global__ void cutegen_draw(u32 distribution, u32 type, u8* at, u64 n, u64 row, u64 stem, u32 position, double number, i64 whole) {
  const u64 piece_elements = 1 << 16;
  for (EACH(piece, (n + piece_elements - 1) / piece_elements)) {
    Random random = Random::of(stem, mix(distribution ^ mix(piece)));
    const u64 end = n < (piece + 1) * piece_elements ? n : (piece + 1) * piece_elements;
    u64 column = piece * piece_elements % row;
    u64 line = piece * piece_elements / row;
    double previous = 0.0;
    for (u64 i = piece * piece_elements; i < end; ++i) {
      previous = drawn(distribution, random, stem, position, line, column, row, previous, number, whole);
      put(type, at, i, previous);
      if (++column == row) { column = 0; ++line; }
    }
  }
}

// What is special, one in each `run` of the n elements, by one thread.
extern "C" __global__ void cutegen_plant(u32 distribution, u32 type, u8* at, u64 n, u64 run, u64 stem, u64 turns, u64 order, double subnormal) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  const double values[5] = { __longlong_as_double(0x7ff8000000000000ll), infinity, -infinity, subnormal, -0.0 };
  Random random = Random::of(stem, mix(distribution));
  const u64 first = random.next();
  for (u64 start = 0; start < n; start += run) {
    const u64 length = run < n - start ? run : n - start;
    put(type, at, start + random.next() % length, values[order >> 4 * ((first + start / run) % turns) & 15]);
  }
}
