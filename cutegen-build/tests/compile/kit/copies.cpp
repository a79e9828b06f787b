// Checks of ring.cuh, pipeline.cuh and scan.cuh: what arrives where, for copies that are as late or as early as may be, and
// prefixes of an operation whose order matters.
#include <algorithm>
#include <string>

// A producer in the last warp, and two streams a stage: chunks of several lengths, none among them.
template <int STAGES>
static void ring(unsigned consumers, unsigned seed) {
  constexpr int BYTES = 512, CHUNKS = 13;
  alignas(16) static unsigned char from[2][CHUNKS * BYTES];
  for (auto& stream : from) for (unsigned char& byte : stream) byte = static_cast<unsigned char>(draw());
  const auto bytes_of = [](int chunk) { return chunk == 5 ? 0 : 16 * (1 + chunk * 7 % 16); };  // of a stream
  std::vector<std::vector<unsigned char>> got(CHUNKS * 2);
  for (int i = 0; i < CHUNKS * 2; ++i) got[size_t(i)].assign(size_t(bytes_of(i / 2)), 0);
  run_block({consumers + 32, 1, 1}, seed, [&] {
    alignas(16) __shared__ unsigned char memory[STAGES * BYTES];
    __shared__ kit::RingBarriers<STAGES> barriers;
    const kit::Ring<STAGES, BYTES> ring{memory, barriers};
    if (threadIdx.x == 0) ring.init(int(consumers));
    __syncthreads();
    kit::Turn<STAGES> turn;
    if (threadIdx.x == consumers) {
      for (int i = 0; i < CHUNKS; ++i, turn.next()) {
        ring.begin(turn, 2 * bytes_of(i));
        ring.copy(turn, 0, from[0] + i * BYTES, bytes_of(i));
        ring.copy(turn, BYTES / 2, from[1] + i * BYTES, bytes_of(i));
      }
    } else if (threadIdx.x < consumers) {
      for (int i = 0; i < CHUNKS; ++i, turn.next()) {
        unsigned char const* stage = ring.wait(turn);
        for (int s = 0; s < 2; ++s) {
          for (int b = int(threadIdx.x); b < bytes_of(i); b += int(consumers)) got[size_t(i * 2 + s)][size_t(b)] = stage[s * BYTES / 2 + b];
        }
        ring.release(turn);
      }
    }
  });
  for (int i = 0; i < CHUNKS * 2; ++i) {
    check(std::memcmp(got[size_t(i)].data(), from[i % 2] + i / 2 * BYTES, got[size_t(i)].size()) == 0, "chunk " + std::to_string(i / 2));
  }
}

// Tiles with a halo, in two buffers, around and beyond the edges of planes.
template <class T>
static void tiles(int width, int64_t stride, int offset, unsigned seed) {
  constexpr int ROWS = 6, COLUMNS = 40, PITCH = 48, HEIGHT = 9, TILES = 12;
  alignas(16) static T data[HEIGHT * 128 + 64];
  for (T& v : data) kit::from_f32(v, float(draw() % 200) - 100);
  T outside;
  kit::from_f32(outside, -128.0f);
  const kit::Plane<T> plane{data + offset, stride, HEIGHT, width};
  const auto top_of = [](int tile) { return tile % 4 * 4 - 3; };
  const auto left_of = [](int tile) { return tile % 3 * 16 - 16 + tile / 6; };
  std::vector<T> got(TILES * ROWS * COLUMNS);
  run_block({64, 1, 1}, seed, [&] {
    alignas(16) __shared__ T buffers[2][ROWS * PITCH];
    const auto load = [&](int tile) {
      if (tile < TILES) kit::load_tile_async(buffers[tile % 2], PITCH, ROWS, COLUMNS, plane, top_of(tile), left_of(tile), outside);
      kit::commit_loads();
    };
    load(0);
    for (int tile = 0; tile < TILES; ++tile) {
      load(tile + 1);
      kit::wait_loads<1>();
      __syncthreads();
      for (int i = int(threadIdx.x); i < ROWS * COLUMNS; i += 64) {
        got[size_t(tile * ROWS * COLUMNS + i)] = buffers[tile % 2][i / COLUMNS * PITCH + i % COLUMNS];
      }
      __syncthreads();
    }
  });
  for (int tile = 0; tile < TILES; ++tile) {
    bool is_right = true;
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
      const int y = top_of(tile) + i / COLUMNS, x = left_of(tile) + i % COLUMNS;
      const bool is_there = y >= 0 && y < HEIGHT && x >= 0 && x < width;
      T const& expected = is_there ? data[offset + y * stride + x] : outside;
      is_right = is_right && std::memcmp(&got[size_t(tile * ROWS * COLUMNS + i)], &expected, sizeof(T)) == 0;
    }
    check(is_right, "tile " + std::to_string(tile) + ", width " + std::to_string(width) + ", offset " + std::to_string(offset));
  }
}

// x -> a x + b, one after another: order matters.
struct Affine {
  unsigned a, b;
};
struct Then {
  using State = Affine;
  static State none() { return {1, 0}; }
  static State join(State f, State g) { return {f.a * g.a, g.a * f.b + g.b}; }
};

static void scans(Index shape, unsigned seed) {
  const unsigned threads = shape.x * shape.y * shape.z;
  std::vector<Affine> x(threads);
  for (Affine& f : x) f = {unsigned(draw()), unsigned(draw())};
  std::vector<kit::Scanned<Affine>> got(threads), again(threads);
  run_block(shape, seed, [&] {
    __shared__ Affine slots[32];
    const unsigned rank = unsigned(kit::thread_rank());
    got[rank] = kit::block_scan<Then>(x[rank], slots);
    again[rank] = kit::block_scan<Then>(x[threads - 1 - rank], slots);
  });
  const auto same = [](Affine f, Affine g) { return f.a == g.a && f.b == g.b; };
  for (int pass = 0; pass < 2; ++pass) {
    Affine all = Then::none(), total = Then::none();
    const auto at = [&](unsigned rank) { return pass == 0 ? x[rank] : x[threads - 1 - rank]; };
    for (unsigned rank = 0; rank < threads; ++rank) total = {total.a * at(rank).a, at(rank).a * total.b + at(rank).b};
    for (unsigned rank = 0; rank < threads; ++rank) {
      kit::Scanned<Affine> const& s = (pass == 0 ? got : again)[rank];
      bool is_right = same(s.before, all) && same(s.total, total);
      all = {all.a * at(rank).a, at(rank).a * all.b + at(rank).b};
      check(is_right && same(s.through, all), "prefix " + std::to_string(rank) + " of " + std::to_string(threads));
    }
  }
}

int main() {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    ring<1>(32, seed), ring<2>(64, seed), ring<3>(96, seed), ring<5>(32, seed);
    tiles<float>(41, 44, 0, seed), tiles<float>(37, 37, 1, seed), tiles<__half>(64, 64, 0, seed), tiles<__half>(39, 40, 8, seed);
    tiles<int8_t>(96, 112, 16, seed), tiles<__nv_bfloat16>(50, 51, 3, seed);
    scans({32, 1, 1}, seed), scans({96, 1, 1}, seed), scans({8, 8, 4}, seed);
  }
  scans({1024, 1, 1}, 99);
  std::printf("%d checks, %d wrong\n", checks, wrong);
  return wrong == 0 ? 0 : 1;
}
