// Naive kernel, printed from the math: one pass per step, temporaries in the workspace.
// Bound by memory traffic of the temporaries and by scalar arithmetic; it exists to be right.
//
// t2[v0:a0, v1:a1] = sum(v2:a2, mul(t0[v0:a0, v2:a2], t1[v1:a1, v2:a2]))
#include <cmath>
#include <cstdint>
#include <cstring>

using acc = float;

// Element types and functions of the naive host kernel. Every function computes in `acc`.
struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };

static inline double cg_inf() { return __builtin_inf(); }

static inline float cg_bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

static inline uint32_t cg_float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

static inline acc cg_load(double x) { return acc(x); }
static inline acc cg_load(float x) { return acc(x); }
static inline acc cg_load(bf16 x) { return acc(cg_bits_to_float(uint32_t(x.bits) << 16)); }

// Half to float: normal numbers rebias, subnormals are a multiple of 2^-24, all-ones exponents stay.
static inline acc cg_load(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00u) return acc(cg_bits_to_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13));
  if (rest >= 0x0400u) return acc(cg_bits_to_float(sign | ((rest << 13) + 0x38000000u)));
  const float magnitude = float(rest) * 0x1p-24f;
  return acc(sign ? -magnitude : magnitude);
}

static inline void cg_store(double& to, acc x) { to = double(x); }
static inline void cg_store(float& to, acc x) { to = float(x); }

// Round to nearest even on the upper half; a NaN keeps its sign and becomes quiet.
static inline void cg_store(bf16& to, acc x) {
  const uint32_t bits = cg_float_to_bits(float(x));
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to.bits = uint16_t(nan ? (bits >> 16 | 0x40u) : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Round to nearest even by adding a number whose last bit has the weight of half's last bit.
static inline void cg_store(f16& to, acc x) {
  const uint32_t bits = cg_float_to_bits(float(x)), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) { to.bits = uint16_t(sign | 0x7e00u); return; }
  if (rest >= 0x477ff000u) { to.bits = uint16_t(sign | 0x7c00u); return; }
  if (rest < 0x38800000u) {
    const float shifted = cg_bits_to_float(rest) + 0.5f;
    to.bits = uint16_t(sign | (cg_float_to_bits(shifted) - 0x3f000000u));
    return;
  }
  to.bits = uint16_t(sign | (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13);
}

static inline acc cg_max(acc a, acc b) { return a != a || b != b ? a + b : (a > b ? a : b); }
static inline acc cg_min(acc a, acc b) { return a != a || b != b ? a + b : (a < b ? a : b); }
static inline acc cg_abs(acc x) { return std::fabs(x); }
static inline acc cg_exp(acc x) { return std::exp(x); }
static inline acc cg_exp2(acc x) { return std::exp2(x); }
static inline acc cg_expm1(acc x) { return std::expm1(x); }
static inline acc cg_log(acc x) { return std::log(x); }
static inline acc cg_log2(acc x) { return std::log2(x); }
static inline acc cg_log1p(acc x) { return std::log1p(x); }
static inline acc cg_sqrt(acc x) { return std::sqrt(x); }
static inline acc cg_rsqrt(acc x) { return acc(1) / std::sqrt(x); }
static inline acc cg_sin(acc x) { return std::sin(x); }
static inline acc cg_cos(acc x) { return std::cos(x); }
static inline acc cg_tanh(acc x) { return std::tanh(x); }
static inline acc cg_erf(acc x) { return std::erf(x); }
// e^-|x| never overflows, so both tails keep their digits.
static inline acc cg_sigmoid(acc x) {
  const acc e = std::exp(-std::fabs(x));
  return (x < acc(0) ? e : acc(1)) / (acc(1) + e);
}
static inline acc cg_silu(acc x) { return x * cg_sigmoid(x); }
static inline acc cg_gelu(acc x) { return acc(0.5) * x * (acc(1) + std::erf(x * acc(0.70710678118654752440))); }
static inline acc cg_gelu_tanh(acc x) {
  const acc inner = acc(0.79788456080286535588) * (x + acc(0.044715) * x * x * x);
  return acc(0.5) * x * (acc(1) + std::tanh(inner));
}
static inline acc cg_relu(acc x) { return x != x || x > acc(0) ? x : acc(0); }
static inline acc cg_softplus(acc x) { return cg_max(x, acc(0)) + std::log1p(std::exp(-std::fabs(x))); }

extern "C" __attribute__((visibility("default"), externally_visible)) void cutegen_906197719c272ccf(void** params) {
  const bf16* const t0 = *reinterpret_cast<const bf16* const*>(params[0]);
  const bf16* const t1 = *reinterpret_cast<const bf16* const*>(params[1]);
  bf16* const t2 = *reinterpret_cast<bf16* const*>(params[2]);
  [[maybe_unused]] const int64_t a0 = *reinterpret_cast<int64_t const*>(params[3]);
  [[maybe_unused]] const int64_t a1 = *reinterpret_cast<int64_t const*>(params[4]);
  [[maybe_unused]] const int64_t a2 = *reinterpret_cast<int64_t const*>(params[5]);
  acc* const w0 = *reinterpret_cast<acc* const*>(params[6]);
  for (int64_t v0 = 0; v0 < a0; ++v0) {
    for (int64_t v1 = 0; v1 < a1; ++v1) {
      {
        acc r = acc(0);
        for (int64_t v2 = 0; v2 < a2; ++v2) {
          const acc e = (cg_load(t0[v0 * a2 + v2]) * cg_load(t1[v1 * a2 + v2]));
          r = r + e;
        }
        w0[v0 * a1 + v1] = r;
      }
    }
  }
  for (int64_t v0 = 0; v0 < a0; ++v0) {
    for (int64_t v1 = 0; v1 < a1; ++v1) {
      {
        cg_store(t2[v0 * a1 + v1], w0[v0 * a1 + v1]);
      }
    }
  }
}
