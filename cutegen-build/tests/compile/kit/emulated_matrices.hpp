// What ptx.cuh and ptx_wgmma.cuh have of tensor cores, by their meaning: behind `emulated.hpp`. Products of a warpgroup run at once or as late
// as they may, by draw. Not here: that copies of a thread are hidden from a warpgroup until its fence.
namespace kit {
using SharedAt = uintptr_t;
inline SharedAt ptx_shared(void const* at) { return reinterpret_cast<SharedAt>(at); }
// A warp's rows, the addresses of which its lanes give.
inline void ptx_matrices(uint32_t (&to)[4], SharedAt row) {
  aligned(reinterpret_cast<void*>(row), 16);
  published[current] = (long long)row;
  meet(warps[current / 32], 32);
  const unsigned lane = current % 32, first = current - lane;
  for (unsigned i = 0; i < 4; ++i) std::memcpy(&to[i], reinterpret_cast<char*>(published[first + i * 8 + lane / 4]) + lane % 4 * 4, 4);
  meet(warps[current / 32], 32);
}
inline void ptx_matrices_transposed(uint32_t (&to)[4], SharedAt row) {
  aligned(reinterpret_cast<void*>(row), 16);
  published[current] = (long long)row;
  meet(warps[current / 32], 32);
  const unsigned lane = current % 32, first = current - lane;
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned e = 0; e < 2; ++e) {
      char const* line = reinterpret_cast<char*>(published[first + i * 8 + lane % 4 * 2 + e]);
      std::memcpy(reinterpret_cast<char*>(&to[i]) + e * 2, line + lane / 4 * 2, 2);
    }
  }
  meet(warps[current / 32], 32);
}
inline float half_of(uint32_t word, unsigned e, __nv_bfloat16) { return __int_as_float(int(e == 0 ? word << 16 : word & 0xffff0000u)); }
inline float half_of(uint32_t word, unsigned e, __half) {
  __half x;
  std::memcpy(&x, reinterpret_cast<char*>(&word) + e * 2, 2);
  return __half2float(x);
}
inline float half_of(uint32_t word, unsigned, float) { return __int_as_float(int(word)); }
// By the layout of fragments: a lane has words of rows lane / 4 and below 8 more, and of k from lane % 4 words on.
template <class T>
inline void ptx_mma(T type, float (&d)[4], uint32_t const (&a)[4], uint32_t const (&b)[2]) {
  static std::vector<uint32_t> words;
  const unsigned lane = current % 32, first = current - lane, each = 4 / sizeof(T);
  words.resize(fibers.size() * 6);
  std::memcpy(&words[current * 6], a, 16), std::memcpy(&words[current * 6 + 4], b, 8);
  meet(warps[current / 32], 32);
  for (unsigned v = 0; v < 4; ++v) {
    const unsigned row = lane / 4, column = lane % 4 * 2 + v % 2;
    double sum = d[v];
    for (unsigned k = 0; k < 8 * each; ++k) {
      const unsigned word = k / each % 4, half = k / each / 4, e = k % each;
      const float x = half_of(words[(first + row * 4 + word) * 6 + v / 2 + half * 2], e, type);
      const float y = half_of(words[(first + column * 4 + word) * 6 + 4 + half], e, type);
      sum += double(x) * double(y);
    }
    d[v] = float(sum);
  }
  meet(warps[current / 32], 32);
}
inline uint32_t ptx_tf32(uint32_t bits) { return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu; }

// A factor of a warpgroup in shared memory, and where its blocks follow each other.
struct MatrixAt {
  SharedAt at;
  int blocks;
};
inline MatrixAt ptx_matrix(SharedAt at, int blocks) { return {at, blocks}; }
// An element: lines of 128 bytes along k or along rows, in blocks of 64 rows; of each address bits 7 to 9 permute bits 4 to 6.
template <class T, bool K_MAJOR>
inline float element_of(MatrixAt m, unsigned row, unsigned k) {
  const unsigned line = K_MAJOR ? row : k, column = K_MAJOR ? k : row;
  const SharedAt at = m.at + line * 128 + (K_MAJOR ? column : column % 64) * 2 + (K_MAJOR ? 0 : column / 64 * unsigned(m.blocks));
  uint32_t word = 0;
  std::memcpy(&word, reinterpret_cast<void*>(at ^ (at >> 7 & 7) << 4), 2);
  return half_of(word, 0, T());
}

struct Started {
  unsigned thread, group;
  std::function<void()> product;
};
static std::vector<Started> products;
static std::vector<unsigned> product_groups;
inline void run_products(unsigned before) {
  for (size_t i = 0; i < products.size();) {
    if (products[i].thread != current || products[i].group >= before) { ++i; continue; }
    products[i].product();
    products.erase(products.begin() + long(i));
  }
}
inline unsigned& product_group() {
  if (product_groups.size() != fibers.size()) product_groups.assign(fibers.size(), 0), products.clear();
  return product_groups[current];
}
inline void ptx_wgmma_begin() {}
inline void ptx_wgmma_commit() {
  const unsigned group = ++product_group();
  if (draw() % 2 == 0) run_products(group);
}
template <int GROUPS>
inline void ptx_wgmma_wait() {
  const unsigned group = product_group();
  if (group > GROUPS) run_products(group - GROUPS);
}
template <int COUNT>
inline void ptx_wgmma_hold(float*) {}
template <int COUNT>
inline void ptx_wgmma_hold(uint32_t*) {}

template <int N>
struct Wgmma {
  template <class Left, class Right>
  static void later(float* d, bool add, Left left, Right right) {
    const unsigned warp = current / 32 % 4, lane = current % 32;
    const auto product = [=] {
      for (unsigned i = 0; i < N / 2; ++i) {
        const unsigned row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        double sum = add ? d[i] : 0.0;
        for (unsigned k = 0; k < 16; ++k) sum += double(left(row, k)) * double(right(column, k));
        d[i] = float(sum);
      }
    };
    products.push_back({current, product_group(), product});
  }
  template <bool IS_BF16, bool A_K_MAJOR, bool B_K_MAJOR>
  static void start(float* d, MatrixAt a, MatrixAt b, bool add) {
    using T = std::conditional_t<IS_BF16, __nv_bfloat16, __half>;
    later(d, add, [=](unsigned row, unsigned k) { return element_of<T, A_K_MAJOR>(a, row, k); },
          [=](unsigned row, unsigned k) { return element_of<T, B_K_MAJOR>(b, row, k); });
  }
  template <bool IS_BF16, bool B_K_MAJOR>
  static void start_held(float* d, uint32_t const (&a)[4], MatrixAt b) {
    using T = std::conditional_t<IS_BF16, __nv_bfloat16, __half>;
    // all lanes' words, as a warp has them: registers are read when the product starts
    static std::vector<uint32_t> words;
    words.resize(fibers.size() * 4);
    std::memcpy(&words[current * 4], a, 16);
    meet(warps[current / 32], 32);
    std::vector<uint32_t> own(words.begin() + current / 32 * 128, words.begin() + current / 32 * 128 + 128);
    meet(warps[current / 32], 32);
    later(d, true,
          [=](unsigned row, unsigned k) { return half_of(own[(row % 8 * 4 + k / 2 % 4) * 4 + row / 8 % 2 + k / 8 * 2], k % 2, T()); },
          [=](unsigned row, unsigned k) { return element_of<T, B_K_MAJOR>(b, row, k); });
  }
};
}  // namespace kit
