// Whether the wgmma template's tiles are each there once, and the k tiles of each: by brute force, over extents, splits and groups.
// Behind the text of `wgmma_tiles.cuh.in`.
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <vector>

static int checked(int batches, int left, int right, int k, int splits, int group) {
  const Tiles tiles = Tiles::of(batches, {left, 128}, {right, 64}, {k, 64}, splits, group);
  const int across = (left + 127) / 128, down = (right + 63) / 64, deep = (k + 63) / 64;
  std::vector<int> seen(size_t(batches) * across * down * deep), number(size_t(batches) * across * down, -1);
  for (int index = 0; index < tiles.count(); ++index) {
    const Work w = tiles.at(index);
    if (w.batch < 0 || w.batch >= batches || w.left < 0 || w.left >= across || w.right < 0 || w.right >= down) return 1;
    if (w.split < 0 || w.split >= splits || w.count < 1 || w.tile < 0 || w.tile >= int(number.size())) return 2;
    int& own = number[(size_t(w.batch) * across + w.left) * down + w.right];
    if (own >= 0 && own != w.tile) return 3;  // splits of a tile agree on its number
    own = w.tile;
    for (int kt = w.first; kt < w.first + w.count; ++kt) {
      if (kt < 0 || kt >= deep || seen[((size_t(w.batch) * across + w.left) * down + w.right) * deep + kt]++) return 4;
    }
  }
  for (int times : seen) {
    if (times != 1) return 5;
  }
  std::vector<int> used(number.size());
  for (int own : number) {
    if (used[own]++) return 6;
  }
  return 0;
}

// Stream-K: shares are equal, each k tile of each tile is in one, parts of a tile are numbered in the order of k, and no two
// leave their sums in one place.
static int shared(Tiles const& tiles, int blocks) {
  const int all = tiles.batches * tiles.left * tiles.right * tiles.k_tiles;
  std::vector<int> seen(all, 0), parts(tiles.count(), 0), places(2 * blocks, 0);
  for (int block = 0; block < blocks; ++block) {
    const unsigned begin = tiles.begin_of(block, blocks), end = tiles.begin_of(block + 1, blocks);
    if (int(end - begin) != all / blocks && int(end - begin) != all / blocks + 1) return 10;
    for (unsigned t = begin / unsigned(tiles.k_tiles); t < (end - 1) / unsigned(tiles.k_tiles) + 1; ++t) {
      const Work w = tiles.share(int(t), block, blocks);
      if (w.count < 1 || w.split != parts[t]++) return 11;
      for (int kt = w.first; kt < w.first + w.count; ++kt) {
        if (kt >= tiles.k_tiles || seen[t * unsigned(tiles.k_tiles) + unsigned(kt)]++) return 12;
      }
      if (w.splits > 1 && places[size_t(Tiles::place_of(block - w.split, w.split))]++) return 13;
      if (w.splits == 1 && w.count != tiles.k_tiles) return 14;
      if (w.first + w.count == tiles.k_tiles && w.split != w.splits - 1) return 15;
    }
  }
  for (int times : seen) {
    if (times != 1) return 16;
  }
  return 0;
}

int main() {
  int cases = 0;
  for (int tiles : {1, 3, 96, 131, 448}) {
    for (int k : {64, 4096, 14336}) {
      for (int blocks : {1, 6, 78, 132, 264}) {
        const Tiles all = Tiles::of(1, {128 * tiles, 128}, {16, 16}, {k, 64}, 1, 64);
        const int most = tiles * all.k_tiles < blocks ? tiles * all.k_tiles : blocks;
        if (const int why = shared(all, most)) {
          fprintf(stderr, "stream-K, %d tiles of %d, %d blocks: %d\n", tiles, k, most, why);
          return 1;
        }
        ++cases;
      }
    }
  }
  for (int batches : {1, 3}) {
    for (int left : {1, 128, 129, 1000}) {
      for (int right : {8, 64, 200, 1032}) {
        for (int k : {8, 64, 72, 1000}) {
          for (int splits : {1, 2, 3, 7, 40}) {
            for (int group : {1, 2, 8, 1000}) {
              if (const int why = checked(batches, left, right, k, splits, group)) {
                fprintf(stderr, "%d x %d,%d,%d /%d group %d: %d\n", batches, left, right, k, splits, group, why);
                return 1;
              }
              ++cases;
            }
          }
        }
      }
    }
  }
  static_assert(Tiles::of(1, {256, 128}, {128, 64}, {128, 64}, 2, 8).at(7).first == 1, "constexpr");
  printf("%d cases\n", cases);
}
