// kit/host.hpp: sums, maxima and 16-bit elements for C++ candidates on a CPU.
//
// Name pointers `float const* __restrict__ x`, or loops do not vectorise. An entry is
// `extern "C" __attribute__((visibility("default"), externally_visible)) void @ENTRY@(void** params)`.
namespace kit {

/// A bfloat16 in memory.
struct bf16 {
  uint16_t bits;
};
/// An IEEE half in memory.
struct f16 {
  uint16_t bits;
};

/// One element as a float, exactly: of float, bf16, f16 or int8_t.
inline float to_f32(float v) { return v; }
inline float to_f32(int8_t v) { return float(v); }
inline float to_f32(bf16 v) {
  const uint32_t word = uint32_t(v.bits) << 16;
  float x;
  memcpy(&x, &word, sizeof x);
  return x;
}
inline float to_f32(f16 v) { return _cvtsh_ss(v.bits); }

/// A float as an element: to nearest even; int8_t toward zero, to [-128, 127], 0 for NaN, as the math's cast.
inline void from_f32(float& to, float v) { to = v; }
inline void from_f32(f16& to, float v) { to.bits = uint16_t(_cvtss_sh(v, 0)); }
inline void from_f32(bf16& to, float v) {
  uint32_t word;
  memcpy(&word, &v, sizeof word);
  to.bits = v != v ? uint16_t(word >> 16 | 0x40) : uint16_t((word + 0x7fff + (word >> 16 & 1)) >> 16);
}
inline void from_f32(int8_t& to, float v) { to = int8_t(v != v ? 0.0f : v < -128.0f ? -128.0f : v > 127.0f ? 127.0f : v); }

/// The greater; min_nan the lesser. A NaN on either side wins, as in the math.
inline float max_nan(float a, float b) { return a != a || a > b ? a : b; }
inline float min_nan(float a, float b) { return a != a || a < b ? a : b; }

constexpr int LANES = 8, BLOCK = 256;

// The sum of lanes, pairwise.
inline float joined(float const (&lane)[LANES]) {
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/// term(0) + ... + term(n - 1) by lanes, blocks of 256, then pairs: its error grows with log n, as an honest parallel
/// kernel's does. A dot product is a term `x[i] * w[i]`.
template <class Term>
inline float blocked_sum(int64_t n, Term const& term) {
  float level[64] = {};  // sums of 1, 2, 4 ... blocks that wait for their neighbours
  uint64_t blocks = 0;
  float rest = 0.0f;
  for (int64_t first = 0; first < n; first += BLOCK) {
    float lane[LANES] = {};
    int64_t i = first;
    const int64_t end = n - first < BLOCK ? n : first + BLOCK;
    for (; i + LANES <= end; i += LANES) {
      for (int l = 0; l < LANES; ++l) lane[l] += term(i + l);
    }
    for (int l = 0; i + l < end; ++l) lane[l] += term(i + l);
    float sum = joined(lane);
    int at = 0;
    for (uint64_t above = blocks++; (above & 1) != 0; above >>= 1) sum = level[at++] + sum;
    level[at] = sum;
  }
  for (int at = 0; (blocks >> at) != 0; ++at) {
    if ((blocks >> at & 1) != 0) rest = level[at] + rest;
  }
  return rest;
}

/// The greatest term, NaN if any is; -inf of n = 0.
template <class Term>
inline float blocked_max(int64_t n, Term const& term) {
  float most = -INFINITY;
  for (int64_t i = 0; i < n; ++i) most = max_nan(most, term(i));
  return most;
}

/// The index of the greatest term: the lowest at ties, the first NaN if there is one; 0 of n = 0.
template <class Term>
inline int64_t first_max(int64_t n, Term const& term) {
  int64_t best = 0;
  float most = n > 0 ? term(0) : 0.0f;
  for (int64_t i = 1; i < n && most == most; ++i) {
    const float x = term(i);
    if (x != x || x > most) most = x, best = i;
  }
  return best;
}

}  // namespace kit
