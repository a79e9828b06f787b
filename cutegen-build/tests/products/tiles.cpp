// Every tile of every grid once, and every tile of k in one part: behind the text of `product_tiles.cuh.in`, once in a namespace
// for each GROUP.
template <class Coord>
static void walk(int group, long batches, int tiles_m, int tiles_n, Coord const& coord) {
  const long all = batches * tiles_m * tiles_n;
  std::vector<int> seen(all, 0);
  for (long number = 0; number < all; ++number) {
    const auto tile = coord(number, tiles_m, tiles_n);
    const bool is_in = tile.batch >= 0 && tile.batch < batches && tile.m >= 0 && tile.m < tiles_m && tile.n >= 0 && tile.n < tiles_n;
    if (!is_in || seen[(tile.batch * tiles_m + tile.m) * tiles_n + tile.n]++ != 0) {
      fprintf(stderr, "GROUP %d, %ld x %d x %d: number %ld\n", group, batches, tiles_m, tiles_n, number);
      exit(1);
    }
  }
}

template <class Coord>
static void all_grids(int group, Coord const& coord) {
  for (long batches : {1, 3}) {
    for (int m = 1; m <= 40; ++m) {
      for (int n = 1; n <= 40; ++n) walk(group, batches, m, n, coord);
    }
  }
  const int m = 65536, n = 32767;  // the last of 2^31 less 65536
  const auto last = coord(int64_t(m) * n - 1, m, n);
  const auto next = coord(int64_t(m) * n, m, n);
  if (last.batch != 0 || last.m != m - 1 || last.n != n - 1 || next.batch != 1 || next.m != 0 || next.n != 0) {
    fprintf(stderr, "GROUP %d: the last of many tiles\n", group);
    exit(1);
  }
}

template <class Part>
static void all_parts(Part const& part) {
  for (int tiles = 0; tiles <= 70; ++tiles) {
    for (int parts = 1; parts <= 80; ++parts) {
      int next = 0, least = tiles, most = 0;
      for (int i = 0; i < parts; ++i) {
        const auto range = part(tiles, i, parts);
        if (range.begin != next || range.end < range.begin) {
          fprintf(stderr, "part %d of %d of %d tiles\n", i, parts, tiles);
          exit(1);
        }
        next = range.end;
        least = std::min(least, range.end - range.begin), most = std::max(most, range.end - range.begin);
      }
      if (next != tiles || most - least > 1) {
        fprintf(stderr, "%d parts of %d tiles\n", parts, tiles);
        exit(1);
      }
    }
  }
  const auto range = part(1 << 30, 4095, 4096);
  if (range.begin != 4095 << 18 || range.end != 1 << 30) exit(1);
}
