// Weights of 4 bits, two a byte: a loader of one's own, that holds what it read.
struct Nibbles {
  using T = __half;
  using Line = int;
  using Held = uint32_t;
  static constexpr bool K_MAJOR = true;
  uint8_t const* data;
  int first, rows, k;
  __device__ Line line(int row) const { return first + row; }
  __device__ Held fetch(void*, Line row, int at) const {
    if (row >= rows || at >= k) return 0x88888888u;
    uint32_t word;
    std::memcpy(&word, data + (row * k + at) / 2, 4);
    return word;
  }
  __device__ void put(void* to, Held held) const {
    __half x[8];
    for (int i = 0; i < 8; ++i) x[i] = __float2half_rn(float(held >> i * 4 & 15) - 8.0f);
    std::memcpy(to, x, 16);
  }
};

// Rows that are gathered from a padded plane, as a convolution does, times weights of 4 bits with a scale for each 64 of k.
template <class Mma, template <class, class, class, int> class LoopOf>
static void gathered(unsigned seed) {
  constexpr int M = 70, N = 24, K = 384, GROUP = 64;
  using T = __half;
  draw.seed(seed);
  std::vector<T> x = drawn<T>(M * 4);
  std::vector<uint8_t> w(N * K / 2);
  for (uint8_t& byte : w) byte = uint8_t(draw());
  std::vector<float> scales(N * K / GROUP), got(M * N, -1.0f);
  for (float& s : scales) s = float(draw() % 1000 + 1) / 700.0f;
  const auto value = [&](int row, int k) {  // 12 neighbours of 32 channels each, zeros around
    const int at = row + k / 32 - 1;
    return row < M && k < K && at >= 0 && at < M ? x[size_t(at * 4 + k % 32 / 8)] : T();
  };
  for (int m0 = 0; m0 < M; m0 += Mma::M) {
    const auto load = kit::gathered<T>([&, m0](int row, int k) { return value(m0 + row, k); });
    using Loop = LoopOf<Mma, decltype(load), Nibbles, 4>;
    unsigned char* const memory = shared_memory(std::max(Loop::BYTES, Mma::PASS_BYTES));
    run_block({unsigned(Mma::THREADS), 1, 1}, seed, [&] {
      typename Mma::Accumulators sums, total;
      sums.clear(), total.clear();
      Loop::run(sums, load, {w.data(), 0, N, K}, memory, 0, K / Mma::K, [&](int tile) {
        if ((tile + 1) * Mma::K % GROUP != 0) return;
        const int group = tile * Mma::K / GROUP;
        Mma::add_scaled(total, sums, [&](int row, int column) { return m0 + row < M && column < N ? scales[size_t(column * (K / GROUP) + group)] : 0.0f; });
      });
      Mma::each_pair(total, [&](int row, int column, float a, float b) {
        if (m0 + row < M && column < N) got[size_t((m0 + row) * N + column)] = a, got[size_t((m0 + row) * N + column + 1)] = b;
      });
    });
  }
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = 0, size = 1e-30;
      for (int k = 0; k < K; ++k) {
        const int nibble = w[size_t((j * K + k) / 2)] >> k % 2 * 4 & 15;
        const double p = double(__half2float(value(i, k))) * double(scales[size_t(j * (K / GROUP) + k / GROUP)]) * (nibble - 8);
        sum += p, size += std::fabs(p);
      }
      check(std::fabs(got[size_t(i * N + j)] - sum) <= 1e-5 * size, "gathered row " + std::to_string(i));
    }
  }
}
