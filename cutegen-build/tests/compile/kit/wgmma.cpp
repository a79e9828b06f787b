// Checks of wgmma.cuh: products and attention by warpgroups.
template <class T, int D, int KV, int WARPS, int STAGES, int PARTS>
struct Grouped : kit::WgmmaAttention<T, D, KV, WARPS, STAGES, PARTS> {
  static constexpr double ROUNDING = PARTS == 2 ? 2e-5 : 5e-3;
};
int main() {
  using bf16 = __nv_bfloat16;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    product<bf16, kit::TiledWgmma<bf16, 128, 64, 64, 1>, 3, true, true, kit::WgmmaProduct>(130, 70, 500, seed);
    product<__half, kit::TiledWgmma<__half, 128, 128, 64, 2>, 4, false, false, kit::WgmmaProduct>(100, 130, 150, seed);
    product<bf16, kit::TiledWgmma<bf16, 64, 96, 128, 1>, 4, true, true, kit::WgmmaProduct>(64, 96, 300, seed);
    product<__half, kit::TiledWgmma<__half, 64, 192, 64, 1>, 3, false, true, kit::WgmmaProduct>(50, 180, 70, seed);
    product<bf16, kit::TiledWgmma<bf16, 64, 256, 64, 1>, 5, true, false, kit::WgmmaProduct>(64, 250, 64, seed);
  }
  gathered<kit::TiledWgmma<__half, 64, 64, 64, 1>, kit::WgmmaProduct>(1);
  for (int special = NONE; special < SPECIALS; ++special) {
    attention<Grouped<bf16, 128, 64, 4, 2, 1>>(70, 70, -1000, 0, Special(special), 1);
    attention<Grouped<__half, 64, 128, 8, 3, 2>>(130, 200, -90, 60, Special(special), 2);
  }
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
