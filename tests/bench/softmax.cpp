// contract:
// steps = [{ entry = "@ENTRY@", args = ["ptr(x)", "ptr(y)", "axis(m)", "axis(d)"] }]
#include <cmath>
#include <cstdint>
// A softmax of rows by hand: the maximum, the sum of exponentials, and their quotients, each in 8 lanes.
extern "C" __attribute__((visibility("default"), externally_visible)) void @ENTRY@(void** params) {
  const float* x = *static_cast<const float**>(params[0]);
  float* y = *static_cast<float**>(params[1]);
  const int64_t m = *static_cast<const int64_t*>(params[2]), d = *static_cast<const int64_t*>(params[3]);
  for (int64_t row = 0; row < m; ++row) {
    const float* from = x + row * d;
    float* to = y + row * d;
    float top = -INFINITY;
    for (int64_t i = 0; i < d; ++i) top = from[i] > top || from[i] != from[i] ? from[i] : top;
    float lanes[8] = {}, sum = 0;
    for (int64_t i = 0; i < d; ++i) {
      to[i] = expf(from[i] - top);
      lanes[i % 8] += to[i];
    }
    for (int lane = 0; lane < 8; ++lane) sum += lanes[lane];
    for (int64_t i = 0; i < d; ++i) to[i] /= sum;
  }
}
