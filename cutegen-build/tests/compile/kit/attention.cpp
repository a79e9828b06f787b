// Checks of attention.cuh by mma.sync.
template <class T, int D, int KV, int WARPS, int R, int STAGES, int PARTS>
struct Core : kit::Attention<T, D, KV, WARPS, R, STAGES, PARTS> {
  static constexpr double ROUNDING = PARTS == 2 ? 2e-5 : sizeof(T) == 2 ? 5e-3 : 0;
};

int main() {
  using bf16 = __nv_bfloat16;
  for (unsigned seed = 1; seed <= 2; ++seed) {
    for (int special = NONE; special < SPECIALS; ++special) {
      attention<Core<bf16, 64, 32, 2, 1, 2, 1>>(40, 40, -1000, 0, Special(special), seed);       // causal
      attention<Core<__half, 32, 16, 1, 2, 3, 2>>(50, 70, -24, 20, Special(special), seed);      // a window, more keys than queries
      attention<Core<bf16, 32, 64, 4, 1, 2, 2>>(20, 150, -1000, 1000, Special(special), seed);  // all keys
    }
  }
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
