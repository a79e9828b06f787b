// kit/online_softmax.cuh: a row's maximum and sum of exponentials in one pass.
//
// An element of -inf adds nothing: masks are safe. Rows of -inf alone, or with +inf or NaN, weigh NaN, as in the math.
#include <kit/math.cuh>
#include <kit/reduce.cuh>
namespace kit {

/// State and Op: none(), push, then block_reduce<OnlineSoftmax<>>. `top`, and `sum` of e^(x - top).
template <bool FAST = false>
struct OnlineSoftmax {
  using State = OnlineSoftmax;
  static constexpr bool COMMUTES = false;
  float top, sum;

  __device__ __forceinline__ static State none() { return {-infinity(), 0.0f}; }
  __device__ __forceinline__ static State join(State a, State b) {
    const float to = max_nan(a.top, b.top);
    return {to, a.sum * factor(a.top, to) + b.sum * factor(b.top, to)};
  }

  /// To a new maximum; returns the factor for accumulators.
  __device__ __forceinline__ float raise(float x) {
    const float to = max_nan(top, x), by = factor(top, to);
    sum *= by;
    top = to;
    return by;
  }
  /// One element.
  __device__ __forceinline__ void push(float x) {
    raise(x);
    sum += term(x);
  }
  /// N elements, one rescale; fill tails with -inf.
  template <int N, class X>
  __device__ __forceinline__ void push(X const& x) {
    float most = x[0];
#pragma unroll
    for (int i = 1; i < N; ++i) most = max_nan(most, x[i]);
    raise(most);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += term(x[i]);
  }
  /// e^(x - top) of a pushed x.
  __device__ __forceinline__ float term(float x) const { return factor(x, top); }
  /// softmax of x, when joined.
  __device__ __forceinline__ float weight(float x) const { return exponential<FAST>(x - top) / sum; }
  /// log_softmax of x.
  __device__ __forceinline__ float log_weight(float x) const { return (x - top) - logf(sum); }

 private:
  // e^(from - to), and 0 from -inf, whatever `to` is
  __device__ __forceinline__ static float factor(float from, float to) {
    return from == -infinity() ? 0.0f : exponential<FAST>(from - to);
  }
};

}  // namespace kit
