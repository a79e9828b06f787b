// Naive kernel, printed from the math: plain loops, no idea beyond it. It exists to be right.
//
// t2[v0:a0, v1:a1] = sum(v2:a2, mul(t0[v0:a0, v2:a2], t1[v1:a1, v2:a2]))
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using acc = float;

// Element types and functions of the naive CUDA kernel. Every function computes in `acc`.
#define CG_FN __device__ inline
#define CG_METHOD __device__ inline
using int64_t = long long;
using bf16 = __nv_bfloat16;
using f16 = __half;

CG_FN double cg_inf() { return __longlong_as_double(0x7ff0000000000000ll); }
CG_FN float cg_bits_to_float(unsigned bits) { return __uint_as_float(bits); }
CG_FN unsigned cg_float_to_bits(float value) { return __float_as_uint(value); }

CG_FN acc cg_load(bf16 x) { return acc(__bfloat162float(x)); }
CG_FN acc cg_load(f16 x) { return acc(__half2float(x)); }

CG_FN float cg_to_odd(float x);
CG_FN float cg_to_odd(double x);
CG_FN void cg_store(bf16& to, acc x) { to = __float2bfloat16_rn(cg_to_odd(x)); }
CG_FN void cg_store(f16& to, acc x) { to = __float2half_rn(cg_to_odd(x)); }

CG_FN acc cg_rsqrt(acc x) { return rsqrt(x); }

// Common to host and CUDA from here on; a test compares the two texts.
struct f8e4m3 { unsigned char bits; };
struct f8e5m2 { unsigned char bits; };
struct bool8 { unsigned char bits; };

// A double as a float that rounds on as the double does: where it is inexact its last bit is set.
CG_FN float cg_to_odd(float x) { return x; }
CG_FN float cg_to_odd(double x) {
  const float near = float(x);
  if (double(near) == x || x != x) return near;
  const unsigned bits = cg_float_to_bits(near), beyond = fabs(double(near)) > fabs(x) ? 1u : 0u;
  return cg_bits_to_float((bits - beyond) | 1u);
}

// 8-bit floats: `fraction` bits behind the point, 2^`least` the smallest normal number.
CG_FN acc cg_f8_value(unsigned bits, int fraction, int least) {
  const unsigned exponent = (bits & 0x7fu) >> fraction, tail = bits & ((1u << fraction) - 1u);
  const int power = (exponent == 0u ? 0 : int(exponent) - 1) + least - fraction;
  const float steps = float(exponent == 0u ? tail : tail | 1u << fraction);
  const float magnitude = steps * cg_bits_to_float(unsigned(power + 127) << 23);
  return acc((bits & 0x80u) != 0u ? -magnitude : magnitude);
}

// Below the smallest normal number, adding one whose last bit has the weight of a step rounds to whole steps.
CG_FN unsigned cg_f8_code(float x, int fraction, int least, unsigned most) {
  const unsigned bits = cg_float_to_bits(x) & 0x7fffffffu, drop = unsigned(23 - fraction);
  if (bits < unsigned(least + 127) << 23) {
    const float large = cg_bits_to_float(unsigned(least + 150 - fraction) << 23);
    return cg_float_to_bits(large + cg_bits_to_float(bits)) - cg_float_to_bits(large);
  }
  const unsigned rounded = (bits + (1u << (drop - 1u)) - 1u + (bits >> drop & 1u)) >> drop;
  const unsigned code = rounded - (unsigned(least + 126) << fraction);
  return code < most ? code : most;
}

CG_FN acc cg_load(double x) { return acc(x); }
CG_FN acc cg_load(float x) { return acc(x); }
CG_FN acc cg_load(f8e4m3 x) {
  return (x.bits & 0x7fu) == 0x7fu ? acc(cg_bits_to_float(0x7fc00000u)) : cg_f8_value(x.bits, 3, -6);
}
CG_FN acc cg_load(f8e5m2 x) {
  const unsigned code = x.bits & 0x7fu;
  if (code > 0x7cu) return acc(cg_bits_to_float(0x7fc00000u));
  if (code == 0x7cu) return acc(x.bits == code ? cg_inf() : -cg_inf());
  return cg_f8_value(x.bits, 2, -14);
}
CG_FN int64_t cg_load(signed char x) { return x; }
CG_FN int64_t cg_load(unsigned char x) { return x; }
CG_FN int64_t cg_load(int x) { return x; }
CG_FN int64_t cg_load(long long x) { return x; }
CG_FN bool cg_load(bool8 x) { return x.bits != 0; }
CG_FN int64_t cg_load_u4(const unsigned char* base, int64_t element) {
  return base[element >> 1] >> (element & 1 ? 4 : 0) & 15;
}
CG_FN int64_t cg_load_i4(const unsigned char* base, int64_t element) {
  return (cg_load_u4(base, element) ^ 8) - 8;
}

CG_FN int64_t cg_int(int64_t x) { return x; }
CG_FN acc cg_real(int64_t x) { return acc(x); }

// Rounds down; the divisor is positive.
CG_FN int64_t cg_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
CG_FN int64_t cg_mod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }
CG_FN int64_t cg_imin(int64_t a, int64_t b) { return a < b ? a : b; }
CG_FN int64_t cg_imax(int64_t a, int64_t b) { return a > b ? a : b; }

CG_FN int64_t cg_max(int64_t a, int64_t b) { return a > b ? a : b; }
CG_FN int64_t cg_min(int64_t a, int64_t b) { return a < b ? a : b; }
CG_FN int64_t cg_abs(int64_t x) { return x < 0 ? -x : x; }
CG_FN int64_t cg_sign(int64_t x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); }
CG_FN int64_t cg_rem(int64_t a, int64_t b) { return cg_mod(a, b); }

// Toward zero; NaN is 0. The comparisons hold in `acc` too: what it cannot hold of an end is rounded outward.
CG_FN int64_t cg_whole(acc x, int64_t least, int64_t most) {
  if (x != x) return 0;
  if (x <= acc(least)) return least;
  return x >= acc(most) ? most : int64_t(x);
}
CG_FN int64_t cg_whole(int64_t x, int64_t least, int64_t most) { return x < least ? least : (x > most ? most : x); }

CG_FN int64_t cg_cast_i4(acc x) { return cg_whole(x, -8, 7); }
CG_FN int64_t cg_cast_i4(int64_t x) { return cg_whole(x, -8, 7); }
CG_FN int64_t cg_cast_u4(acc x) { return cg_whole(x, 0, 15); }
CG_FN int64_t cg_cast_u4(int64_t x) { return cg_whole(x, 0, 15); }
CG_FN int64_t cg_cast_i8(acc x) { return cg_whole(x, -128, 127); }
CG_FN int64_t cg_cast_i8(int64_t x) { return cg_whole(x, -128, 127); }
CG_FN int64_t cg_cast_u8(acc x) { return cg_whole(x, 0, 255); }
CG_FN int64_t cg_cast_u8(int64_t x) { return cg_whole(x, 0, 255); }
CG_FN int64_t cg_cast_i32(acc x) { return cg_whole(x, -2147483648ll, 2147483647ll); }
CG_FN int64_t cg_cast_i32(int64_t x) { return cg_whole(x, -2147483648ll, 2147483647ll); }
CG_FN int64_t cg_cast_i64(acc x) { return cg_whole(x, -9223372036854775807ll - 1, 9223372036854775807ll); }
CG_FN int64_t cg_cast_i64(int64_t x) { return x; }

CG_FN void cg_store(double& to, acc x) { to = double(x); }
CG_FN void cg_store(float& to, acc x) { to = float(x); }
CG_FN void cg_store(f8e4m3& to, acc x) {
  const float near = cg_to_odd(x);
  const unsigned sign = cg_float_to_bits(near) >> 24 & 0x80u;
  to.bits = (unsigned char)(sign | (x != x ? 0x7fu : cg_f8_code(near, 3, -6, 0x7eu)));
}
CG_FN void cg_store(f8e5m2& to, acc x) {
  const float near = cg_to_odd(x);
  const unsigned sign = cg_float_to_bits(near) >> 24 & 0x80u;
  to.bits = (unsigned char)(sign | (x != x ? 0x7eu : cg_f8_code(near, 2, -14, 0x7bu)));
}
CG_FN void cg_store(signed char& to, int64_t x) { to = (signed char)cg_cast_i8(x); }
CG_FN void cg_store(unsigned char& to, int64_t x) { to = (unsigned char)cg_cast_u8(x); }
CG_FN void cg_store(int& to, int64_t x) { to = int(cg_cast_i32(x)); }
CG_FN void cg_store(long long& to, int64_t x) { to = x; }
CG_FN void cg_store(bool8& to, bool x) { to.bits = x ? 1 : 0; }
CG_FN unsigned char cg_pack_u4(int64_t low, int64_t high) {
  return (unsigned char)(cg_cast_u4(low) | cg_cast_u4(high) << 4);
}
CG_FN unsigned char cg_pack_i4(int64_t low, int64_t high) {
  return (unsigned char)((cg_cast_i4(low) & 15) | (cg_cast_i4(high) & 15) << 4);
}

template <class T>
CG_FN acc cg_through(acc x) {
  T stored;
  cg_store(stored, x);
  return cg_load(stored);
}
CG_FN acc cg_cast_f64(acc x) { return x; }
CG_FN acc cg_cast_f32(acc x) { return acc(float(x)); }
CG_FN acc cg_cast_f16(acc x) { return cg_through<f16>(x); }
CG_FN acc cg_cast_bf16(acc x) { return cg_through<bf16>(x); }
CG_FN acc cg_cast_f8e4m3(acc x) { return cg_through<f8e4m3>(x); }
CG_FN acc cg_cast_f8e5m2(acc x) { return cg_through<f8e5m2>(x); }

CG_FN bool cg_lt(acc a, acc b) { return a < b; }
CG_FN bool cg_le(acc a, acc b) { return a <= b; }
CG_FN bool cg_gt(acc a, acc b) { return a > b; }
CG_FN bool cg_ge(acc a, acc b) { return a >= b; }
CG_FN bool cg_eq(acc a, acc b) { return a == b; }
CG_FN bool cg_ne(acc a, acc b) { return a != b; }
CG_FN bool cg_lt(int64_t a, int64_t b) { return a < b; }
CG_FN bool cg_le(int64_t a, int64_t b) { return a <= b; }
CG_FN bool cg_gt(int64_t a, int64_t b) { return a > b; }
CG_FN bool cg_ge(int64_t a, int64_t b) { return a >= b; }
CG_FN bool cg_eq(int64_t a, int64_t b) { return a == b; }
CG_FN bool cg_ne(int64_t a, int64_t b) { return a != b; }
CG_FN bool cg_and(bool a, bool b) { return a && b; }
CG_FN bool cg_or(bool a, bool b) { return a || b; }
CG_FN bool cg_not(bool a) { return !a; }

CG_FN acc cg_max(acc a, acc b) { return a != a || b != b ? a + b : (a > b ? a : b); }
CG_FN acc cg_min(acc a, acc b) { return a != a || b != b ? a + b : (a < b ? a : b); }
CG_FN acc cg_abs(acc x) { return fabs(x); }
CG_FN acc cg_exp(acc x) { return exp(x); }
CG_FN acc cg_exp2(acc x) { return exp2(x); }
CG_FN acc cg_expm1(acc x) { return expm1(x); }
CG_FN acc cg_log(acc x) { return log(x); }
CG_FN acc cg_log2(acc x) { return log2(x); }
CG_FN acc cg_log1p(acc x) { return log1p(x); }
CG_FN acc cg_sqrt(acc x) { return sqrt(x); }
CG_FN acc cg_sin(acc x) { return sin(x); }
CG_FN acc cg_cos(acc x) { return cos(x); }
CG_FN acc cg_tanh(acc x) { return tanh(x); }
CG_FN acc cg_erf(acc x) { return erf(x); }
CG_FN acc cg_floor(acc x) { return floor(x); }
CG_FN acc cg_ceil(acc x) { return ceil(x); }
CG_FN acc cg_round(acc x) { return rint(x); }
// A half by itself: compilers make a root of it where they vectorise, and the root of -inf is NaN.
CG_FN acc cg_pow(acc x, acc y) {
  if (y == acc(0.5)) return fabs(x) == acc(cg_inf()) ? acc(cg_inf()) : sqrt(x) + acc(0);
  return pow(x, y);
}
CG_FN acc cg_sign(acc x) { return x > acc(0) ? acc(1) : (x < acc(0) ? acc(-1) : x); }
// A sum in blocks of blocks: what is added is one of 128 terms, of 128 sums of these, or of what is left, so that errors
// grow as in a tree over threads and not with the number of terms.
struct cg_sum {
  acc block = acc(0), blocks = acc(0), all = acc(0);
  unsigned terms = 0u;
  CG_METHOD void add(acc term) {
    block = block + term;
    if ((++terms & 127u) != 0u) return;
    blocks = blocks + block;
    block = acc(0);
    if ((terms & 16383u) != 0u) return;
    all = all + blocks;
    blocks = acc(0);
  }
  CG_METHOD acc value() const { return all + (blocks + block); }
};

// e^-|x| never overflows, so both tails keep their digits.
CG_FN acc cg_sigmoid(acc x) {
  const acc e = exp(-fabs(x));
  return (x < acc(0) ? e : acc(1)) / (acc(1) + e);
}
CG_FN acc cg_silu(acc x) { return x * cg_sigmoid(x); }
// Both gelus by what doesn't cancel for negative x. At -inf they and silu are -inf * 0, NaN.
CG_FN acc cg_gelu(acc x) { return acc(0.5) * x * erfc(x * acc(-0.70710678118654752440)); }
CG_FN acc cg_gelu_tanh(acc x) {
  const acc inner = acc(0.79788456080286535588) * (x + acc(0.044715) * x * x * x);
  return x * cg_sigmoid(acc(2) * inner);
}
CG_FN acc cg_relu(acc x) { return x != x || x > acc(0) ? x : acc(0); }
CG_FN acc cg_softplus(acc x) { return cg_max(x, acc(0)) + log1p(exp(-fabs(x))); }

static constexpr int64_t a1 = 4096;
static constexpr int64_t a2 = 4096;
static constexpr int64_t a3 = 6144;

extern "C" __global__ void __launch_bounds__(256) cutegen_885442ef4b034152_0(
    const bf16* t0, const bf16* t1, bf16* t2, int64_t a0) {
  __shared__ __align__(16) acc left[16][64 + 4], right[16][64 + 4];
  const int64_t rows = int64_t(1) * a0, cols = int64_t(1) * a1;
  const int64_t down = (rows + 64 - 1) / 64, across = (cols + 64 - 1) / 64;
  const int64_t total = down * across * int64_t(1);
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int64_t i = blockIdx.x; i < total; i += gridDim.x) {
    const int64_t col0 = i % across * 64, row0 = i / across % down * 64;
    const int64_t batch = i / across / down;
    acc sums0[4][4] = {};
    {
      const int64_t count = int64_t(1) * a2;
      for (int64_t from = 0; from < count; from += 128) {
        acc parts[4][4] = {};
        const int64_t to = cg_imin(count, from + 128);
        for (int64_t first = from; first < to; first += 16) {
          __syncthreads();
#pragma unroll
          for (int e = threadIdx.x; e < 16 * 64; e += 256) {
            const int k = e % 16, i = e / 16;
            const int64_t term = first + k, row = row0 + i;
            acc value = 0;
            if (term < count && row < rows) {
              const int64_t v0 = row;
              const int64_t v2 = term;
              value = cg_load(t0[v0 * a3 + v2]);
            }
            left[k][i] = value;
          }
#pragma unroll
          for (int e = threadIdx.x; e < 16 * 64; e += 256) {
            const int k = e % 16, i = e / 16;
            const int64_t term = first + k, col = col0 + i;
            acc value = 0;
            if (term < count && col < cols) {
              const int64_t v1 = col;
              const int64_t v2 = term;
              value = cg_load(t1[v1 * a2 + v2]);
            }
            right[k][i] = value;
          }
          __syncthreads();
#pragma unroll
          for (int k = 0; k < 16; ++k) {
            acc a[4], b[4];
#pragma unroll
            for (int p = 0; p < 4; ++p) a[p] = left[k][y * 4 + p], b[p] = right[k][x * 4 + p];
#pragma unroll
            for (int p = 0; p < 4; ++p)
#pragma unroll
              for (int q = 0; q < 4; ++q) parts[p][q] = parts[p][q] + a[p] * b[q];
          }
        }
#pragma unroll
        for (int p = 0; p < 4; ++p)
#pragma unroll
          for (int q = 0; q < 4; ++q) sums0[p][q] = sums0[p][q] + parts[p][q];
      }
    }
#pragma unroll
    for (int p = 0; p < 4; ++p) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const int64_t row = row0 + y * 4 + p, col = col0 + x * 4 + q;
        if (row >= rows || col >= cols) continue;
        const int64_t v0 = row;
        const int64_t v1 = col;
        const acc r0 = sums0[p][q];
        cg_store(t2[v0 * a1 + v1], r0);
      }
    }
  }
}

