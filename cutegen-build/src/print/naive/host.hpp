// Element types and functions of the naive host kernel. Every function computes in `acc`.
#define CG_FN static inline
#define CG_METHOD inline
using std::fabs, std::exp, std::exp2, std::expm1, std::log, std::log2, std::log1p, std::sqrt, std::sin, std::cos;
using std::tanh, std::erf, std::erfc, std::floor, std::ceil, std::rint, std::pow;

struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };

CG_FN double cg_inf() { return __builtin_inf(); }

CG_FN float cg_bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

CG_FN uint32_t cg_float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

CG_FN acc cg_load(bf16 x) { return acc(cg_bits_to_float(uint32_t(x.bits) << 16)); }

// Half to float: normal numbers rebias, subnormals are a multiple of 2^-24, all-ones exponents stay.
CG_FN acc cg_load(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00u) return acc(cg_bits_to_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13));
  if (rest >= 0x0400u) return acc(cg_bits_to_float(sign | ((rest << 13) + 0x38000000u)));
  const float magnitude = float(rest) * 0x1p-24f;
  return acc(sign ? -magnitude : magnitude);
}

// Round to nearest even on the upper half; a NaN keeps its sign and becomes quiet.
CG_FN void cg_store_bits(bf16& to, float x) {
  const uint32_t bits = cg_float_to_bits(x);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to.bits = uint16_t(nan ? (bits >> 16 | 0x40u) : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Round to nearest even by adding a number whose last bit has the weight of half's last bit.
CG_FN void cg_store_bits(f16& to, float x) {
  const uint32_t bits = cg_float_to_bits(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) { to.bits = uint16_t(sign | 0x7e00u); return; }
  if (rest >= 0x477ff000u) { to.bits = uint16_t(sign | 0x7c00u); return; }
  if (rest < 0x38800000u) {
    const float shifted = cg_bits_to_float(rest) + 0.5f;
    to.bits = uint16_t(sign | (cg_float_to_bits(shifted) - 0x3f000000u));
    return;
  }
  to.bits = uint16_t(sign | (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13);
}

static inline float cg_to_odd(float x);
static inline float cg_to_odd(double x);
CG_FN void cg_store(bf16& to, acc x) { cg_store_bits(to, cg_to_odd(x)); }
CG_FN void cg_store(f16& to, acc x) { cg_store_bits(to, cg_to_odd(x)); }

CG_FN acc cg_rsqrt(acc x) { return acc(1) / sqrt(x); }

