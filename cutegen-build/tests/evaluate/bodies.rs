//! Bodies of kernels that do what is asked, as plainly as they can.

pub(crate) const HONEST_SILU: &str = "for (int64_t i = 0; i < SIZE; ++i) Y[i] = one(X[i], G[i]);";

pub(crate) const HONEST_GEMM: &str =
    "EACH { float s = 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = s; }";

pub(crate) const HONEST_VARIANCE: &str =
    "for (int64_t i = 0; i < M; ++i) { const float* x = X + i * N; float s = 0, q = 0;
  for (int64_t j = 0; j < N; ++j) s += x[j];
  float mean = s / N;
  for (int64_t j = 0; j < N; ++j) q += (x[j] - mean) * (x[j] - mean);
  V[i] = q / N; }";

pub(crate) const HONEST_RMS_NORM: &str =
    "for (int64_t i = 0; i < M; ++i) { const bf16* x = X + i * N; float s = 0;
  for (int64_t j = 0; j < N; ++j) s += up(x[j]) * up(x[j]);
  float r = 1 / sqrtf(s / N + EPS);
  for (int64_t j = 0; j < N; ++j) Y[i * N + j] = down(up(x[j]) * r * up(W[j])); }";
