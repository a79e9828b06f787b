// kit/ring.cuh: stages in shared memory, filled by bulk copies; sm_90.
//
// One producer thread and consumers, each with a Turn of its own over the same stages.
#include <kit/ptx.cuh>
namespace kit {

/// turn.next() after each stage.
template <int STAGES>
struct Turn {
  int stage = 0, round = 0;
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) stage = 0, ++round;
  }
};

/// In shared memory.
template <int STAGES>
struct RingBarriers {
  uint64_t full[STAGES], empty[STAGES];
};

/// `Ring<STAGES, BYTES> ring{memory, barriers}`; memory is STAGES * BYTES shared bytes on 16.
template <int STAGES, int BYTES>
struct Ring {
  static_assert(STAGES >= 1 && BYTES > 0 && BYTES % 16 == 0, "bulk copies are of 16 bytes");
  unsigned char* memory;
  RingBarriers<STAGES>& barriers;

  /// By one thread, then __syncthreads(). `consumers` is every thread that reads stages.
  __device__ __forceinline__ void init(int consumers) const {
    for (int i = 0; i < STAGES; ++i) {
      ptx_barrier_init(barriers.full[i], 1);
      ptx_barrier_init(barriers.empty[i], consumers);
    }
    ptx_barrier_init_fence();
  }

  /// Producer: waits for the free stage; `bytes` of all copies that follow.
  __device__ __forceinline__ void begin(Turn<STAGES> turn, int bytes) const {
    ptx_barrier_wait(barriers.empty[turn.stage], (turn.round & 1) ^ 1);
    ptx_bulk_fence();
    ptx_barrier_expect(barriers.full[turn.stage], bytes);
  }

  /// Producer: address, offset, bytes on 16; load shorter tails by hand.
  __device__ __forceinline__ void copy(Turn<STAGES> turn, int offset, void const* from, int bytes) const {
    if (bytes > 0) ptx_copy_bulk(memory + turn.stage * BYTES + offset, from, bytes, barriers.full[turn.stage]);
  }

  /// begin and one copy.
  __device__ __forceinline__ void prefetch(Turn<STAGES> turn, void const* from, int bytes) const {
    begin(turn, bytes);
    copy(turn, 0, from, bytes);
  }

  /// Consumer: the stage, when its bytes are there.
  __device__ __forceinline__ unsigned char* wait(Turn<STAGES> turn) const {
    ptx_barrier_wait(barriers.full[turn.stage], turn.round & 1);
    return memory + turn.stage * BYTES;
  }

  /// Every thread that read, itself: racecheck does not follow __syncwarp() to one lane's release.
  __device__ __forceinline__ void release(Turn<STAGES> turn) const { ptx_barrier_arrive(barriers.empty[turn.stage]); }
};

}  // namespace kit
