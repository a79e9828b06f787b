// As much of a GPU as the naive kernels name, on the host, behind the shim of their prelude: threads of a block are fibers
// that take turns at every barrier, blocks of a cluster have a thread of the host each.
#define __global__
#define __launch_bounds__(threads)
#define __shared__ static thread_local
#define __align__(bytes) __attribute__((aligned(bytes)))

struct Dims { unsigned x; };
static thread_local Dims gridDim, blockDim, blockIdx, threadIdx;

struct Cluster {
  pthread_barrier_t barrier;
  std::vector<char*> anchors;
};
static thread_local Cluster* cluster;
// Shared memory of a block lies as far from this as that of any other block from its own.
static thread_local char anchor;

constexpr size_t STACK = 64 << 10;
struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[STACK]};
  bool done = false;
};
static thread_local std::vector<Fiber>* fibers;
static thread_local ucontext_t scheduler;
static thread_local const std::function<void()>* work;

static void take_turns() { swapcontext(&(*fibers)[threadIdx.x].context, &scheduler); }
static void run_one() {
  (*work)();
  (*fibers)[threadIdx.x].done = true;
  take_turns();
}
static void run_fibers() {
  for (Fiber& fiber : *fibers) {
    fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_one, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (unsigned thread = 0; thread < blockDim.x; ++thread) {
      if ((*fibers)[thread].done) continue;
      threadIdx.x = thread;
      swapcontext(&scheduler, &(*fibers)[thread].context);
      any |= !(*fibers)[thread].done;
    }
  }
}

static inline void __syncthreads() { take_turns(); }
static inline void __cluster_barrier_arrive() {}
static inline void __cluster_barrier_wait() {
  // the last of the block to come here: all others wait for their turn
  if (threadIdx.x == blockDim.x - 1) pthread_barrier_wait(&cluster->barrier);
  take_turns();
}
static inline void* __cluster_map_shared_rank(void* own, unsigned block) {
  return cluster->anchors[block] + (static_cast<char*>(own) - &anchor);
}

// Blocks `rank`, `rank` + `blocks`, .. of the grid, `blocks` being those of a cluster; `waits` where threads meet.
static void run_rank(unsigned rank, unsigned blocks, Dims grid, Dims block, bool waits, Cluster* own, const std::function<void()>& kernel) {
  gridDim = grid, blockDim = block, cluster = own, work = &kernel;
  own->anchors[rank] = &anchor;
  pthread_barrier_wait(&own->barrier);
  std::vector<Fiber> all(waits ? block.x : 0);
  fibers = &all;
  for (blockIdx.x = rank; blockIdx.x < grid.x; blockIdx.x += blocks) {
    if (waits) run_fibers();
    else for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) kernel();
  }
  pthread_barrier_wait(&own->barrier);
}
template <class... A, size_t... I>
static std::function<void()> bound(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
  return [=] { kernel(*reinterpret_cast<A*>(args[I])...); };
}
template <class... A>
static void launched(void (*kernel)(A...), void** args, unsigned grid, unsigned block, unsigned blocks, bool waits) {
  const std::function<void()> call = bound(kernel, args, std::index_sequence_for<A...>{});
  Cluster together;
  pthread_barrier_init(&together.barrier, nullptr, blocks);
  together.anchors.resize(blocks);
  std::vector<std::thread> ranks;
  for (unsigned rank = 1; rank < blocks; ++rank)
    ranks.emplace_back([&, rank] { run_rank(rank, blocks, Dims{grid}, Dims{block}, waits, &together, call); });
  run_rank(0, blocks, Dims{grid}, Dims{block}, waits, &together, call);
  for (std::thread& rank : ranks) rank.join();
  pthread_barrier_destroy(&together.barrier);
}
