// As much of CUDA as the naive CUDA prelude names, on the host.
#define __device__
struct __half { uint16_t bits; };
struct __nv_bfloat16 { uint16_t bits; };
static inline double __longlong_as_double(long long word) { double x; std::memcpy(&x, &word, 8); return x; }
static inline float __uint_as_float(unsigned word) { float x; std::memcpy(&x, &word, 4); return x; }
static inline unsigned __float_as_uint(float x) { unsigned word; std::memcpy(&word, &x, 4); return word; }
static inline float __bfloat162float(__nv_bfloat16 x) { return __uint_as_float(unsigned(x.bits) << 16); }
static inline float rsqrt(float x) { return 1 / std::sqrt(x); }
static inline double rsqrt(double x) { return 1 / std::sqrt(x); }
using std::fabs; using std::exp; using std::exp2; using std::expm1; using std::log; using std::log2; using std::log1p;
using std::sqrt; using std::sin; using std::cos; using std::tanh; using std::erf; using std::floor; using std::ceil;
using std::rint; using std::pow;

// Rounds a magnitude to `fraction` bits behind the point, halves to even; slow and of other means than the preludes.
static inline double rounded_to(double x, int fraction, int least) {
  int exponent;
  if (x == 0) return x;
  std::frexp(x, &exponent);
  const double ulp = std::ldexp(1.0, (exponent - 1 > least ? exponent - 1 : least) - fraction);
  return std::nearbyint(x / ulp) * ulp;
}
static inline float __half2float(__half x) {
  const int exponent = x.bits >> 10 & 31, tail = x.bits & 1023;
  const float special = tail ? __builtin_nanf("") : __builtin_inff();
  const float size = exponent == 31 ? special : std::ldexp(float(exponent ? 1024 + tail : tail), (exponent ? exponent : 1) - 25);
  return x.bits & 0x8000 ? -size : size;
}
static inline __half __float2half_rn(float x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x != x) return {uint16_t(sign | 0x7e00)};
  const double size = std::isinf(x) ? 65536 : rounded_to(std::fabs(double(x)), 10, -14);
  if (size >= 65536) return {uint16_t(sign | 0x7c00)};
  if (size < 0x1p-14) return {uint16_t(sign | int(size * 0x1p24))};
  int exponent;
  const double part = std::frexp(size, &exponent);
  return {uint16_t(sign | (exponent + 14) << 10 | (int(part * 2048) & 1023))};
}
static inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x != x) return {uint16_t(sign | 0x7fc0)};
  const double size = std::isinf(x) ? 0x1p128 : rounded_to(std::fabs(double(x)), 7, -126);
  if (size >= 0x1p128) return {uint16_t(sign | 0x7f80)};
  return {uint16_t(sign | __float_as_uint(float(size)) >> 16)};
}
// NVRTC has no int64_t of its own.
#define int64_t cuda_int64_t
