// Checks of mma.cuh and product.cuh: products against plain loops in double, which share no code.
// Every piece of a tile has bytes of its own, and eight pieces that are read at once meet no bank twice.
template <class Tile>
static void places(std::string const& name) {
  std::vector<int> seen(size_t(Tile::BYTES / 16), 0);
  for (int line = 0; line < Tile::LINES; ++line) {
    for (int piece = 0; piece < Tile::PIECES; ++piece) {
      const int at = Tile::byte_of(line, piece);
      check(at % 16 == 0 && at >= 0 && at < Tile::BYTES && ++seen[size_t(at / 16)] == 1, name + " place");
    }
  }
  for (int first = 0; first < Tile::LINES; first += 8) {
    int banks = 0;
    for (int line = first; line < first + 8; ++line) banks |= 1 << Tile::byte_of(line, 0) / 16 % 8;
    check(banks == 255, name + " banks");
  }
}

int main() {
  using bf16 = __nv_bfloat16;
  places<kit::Tile<bf16, 64, 64>>("64 of k"), places<kit::Tile<bf16, 32, 128>>("128 of k"), places<kit::Tile<bf16, 32, 32>>("32 of k");
  places<kit::Tile<bf16, 16, 16>>("16 of k"), places<kit::Tile<bf16, 128, 32, false>>("rows"), places<kit::Tile<float, 32, 32>>("floats");
  for (unsigned seed = 1; seed <= 3; ++seed) {
    product<bf16, kit::TiledMma<bf16, 64, 64, 64, 2, 2>, 3, true, true, kit::Product>(70, 90, 200, seed);
    product<__half, kit::TiledMma<__half, 32, 64, 32, 1, 2>, 4, true, false, kit::Product>(70, 100, 100, seed);
    product<bf16, kit::TiledMma<bf16, 64, 32, 32, 2, 2>, 3, false, true, kit::Product>(64, 31, 65, seed);
    product<bf16, kit::TiledMma<bf16, 32, 64, 16, 2, 1>, 3, false, false, kit::Product>(40, 72, 50, seed);
    product<float, kit::TiledMma<float, 32, 32, 32, 1, 2>, 3, true, true, kit::Product>(33, 40, 70, seed);
    product<float, kit::TiledMma<float, 32, 32, 24, 2, 1>, 5, true, true, kit::Product>(32, 32, 44, seed);
    gathered<kit::TiledMma<__half, 32, 32, 32, 1, 2>, kit::Product>(seed);
  }
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
