// Elements of a step in blocks that threads take in turn, so that a triangle of work is shared fairly. Small steps stay
// with the caller, as does all that no thread could be had for.
#include <system_error>
#include <thread>

template <class F>
static void shared_among_threads(int64_t total, double each, F element) {
  const int64_t block = 16, cores = int64_t(std::thread::hardware_concurrency());
  const int64_t workers = double(total) * each < 1e6 || cores < 2 ? 1 : std::min(cores, (total + block - 1) / block);
  const auto run = [&](int64_t worker) {
    for (int64_t first = worker * block; first < total; first += workers * block)
      for (int64_t i = first; i < total && i < first + block; ++i) element(i);
  };
  std::vector<std::thread> threads;
  int64_t next = 1;
  try {
    for (; next < workers; ++next) threads.emplace_back(run, next);
  } catch (const std::system_error&) {
  }
  run(0);
  for (; next < workers; ++next) run(next);
  for (std::thread& thread : threads) thread.join();
}
