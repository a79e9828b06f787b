// Kernels that only read and write. Defined before: READS and WRITES, streams of equal lengths; PER, how many bytes are
// read of each for one that is written. Small tensors are read or written once, so that the bytes are those of the kernel
// that is compared.
//
// A written unit is the XOR of what was read for it, or of two streams each its own; a ring moves its first stream as it is.

typedef unsigned long long u64;
typedef long long i64;

#define ARGUMENTS                                                                                                      \
  const char* r0, const char* r1, char* w0, char* w1, i64 bytes, const char* e0, i64 e0_bytes, const char* e1,         \
      i64 e1_bytes, char* t0, i64 t0_bytes, unsigned* sink
#define PASSED r0, r1, w0, w1, bytes, e0, e0_bytes, e1, e1_bytes, t0, t0_bytes, sink
#define LOADS (READS * PER)

template <int BYTES> struct Unit;
template <> struct Unit<4> { typedef unsigned type; };
template <> struct Unit<8> { typedef uint2 type; };
template <> struct Unit<16> { typedef uint4 type; };

__device__ inline unsigned fold(unsigned v) { return v; }
__device__ inline unsigned fold(uint2 v) { return v.x ^ v.y; }
__device__ inline unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }
__device__ inline void mix(unsigned& a, unsigned b) { a ^= b; }
__device__ inline void mix(uint2& a, uint2 b) { a.x ^= b.x, a.y ^= b.y; }
__device__ inline void mix(uint4& a, uint4 b) { a.x ^= b.x, a.y ^= b.y, a.z ^= b.z, a.w ^= b.w; }

// how a unit is loaded and stored
struct Plain {
  template <class V> static __device__ V load(const V* at) { return *at; }
  template <class V> static __device__ void store(V* at, V v) { *at = v; }
};
struct Streaming {
  template <class V> static __device__ V load(const V* at) { return __ldcs(at); }
  template <class V> static __device__ void store(V* at, V v) { __stcs(at, v); }
};
struct ReadOnly {
  template <class V> static __device__ V load(const V* at) { return __ldg(at); }
  template <class V> static __device__ void store(V* at, V v) { __stcs(at, v); }
};
struct NoAllocate {
  static __device__ uint4 load(const uint4* at) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at));
    return v;
  }
  static __device__ void store(uint4* at, uint4 v) { __stcg(at, v); }
};
struct EvictFirst {
  static __device__ uint4 load(const uint4* at) {
    uint4 v;
    asm volatile("ld.global.L1::evict_first.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at));
    return v;
  }
  static __device__ void store(uint4* at, uint4 v) {
    asm volatile("st.global.L1::evict_first.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
  }
};

// The small tensors, by all threads of the grid; what was read so far is kept from being left out.
__device__ inline void small_parts(unsigned sum, ARGUMENTS) {
  const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
#pragma unroll 1
  for (i64 i = first; i < e0_bytes / 16; i += step) sum ^= fold(((const uint4*)e0)[i]);
#pragma unroll 1
  for (i64 i = first; i < e1_bytes / 16; i += step) sum ^= fold(((const uint4*)e1)[i]);
#pragma unroll 1
  for (i64 i = first; i < t0_bytes / 16; i += step) ((uint4*)t0)[i] = make_uint4(1, 2, 3, 4);
  if (sum == 0x9e3779b9u) *sink = sum;
}

// U units a thread at a time. The grid covers everything once, or goes round.
template <int BYTES, int U, class Access> __device__ inline void units(ARGUMENTS) {
  typedef typename Unit<BYTES>::type V;
  const V *in[2] = {(const V*)r0, (const V*)r1};
  const i64 count = bytes / BYTES, round = (i64)gridDim.x * blockDim.x * U;
  unsigned sum = 0;
#pragma unroll 1
  for (i64 base = (i64)blockIdx.x * blockDim.x * U + threadIdx.x; base < count; base += round) {
    V held[U][LOADS];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const i64 i = base + (i64)u * blockDim.x;
#pragma unroll
      for (int l = 0; l < LOADS; ++l)
        if (i < count) held[u][l] = Access::load(in[l / PER] + i + (l % PER) * count);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const i64 i = base + (i64)u * blockDim.x;
      if (i >= count) break;
#if WRITES == 2
      Access::store((V*)w0 + i, held[u][0]);
      Access::store((V*)w1 + i, held[u][LOADS - 1]);
#else
      V all = held[u][0];
#pragma unroll
      for (int l = 1; l < LOADS; ++l) mix(all, held[u][l]);
#if WRITES == 1
      Access::store((V*)w0 + i, all);
#else
      sum ^= fold(all);
#endif
#endif
    }
  }
  small_parts(sum, PASSED);
}

__device__ inline unsigned shared_at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ inline void bulk_load(char* to, const char* from, unsigned size, u64* full) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_at(to)),
               "l"(from), "r"(size), "r"(shared_at(full))
               : "memory");
}

__device__ inline void bulk_store(char* to, const char* from, unsigned size) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_at(from)), "r"(size)
               : "memory");
}

__device__ inline void wait_full(u64* full, unsigned parity) {
  asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(
                   shared_at(full)),
               "r"(parity)
               : "memory");
}

// A ring of bulk copies through shared memory, kept going by one thread of each block. STAGE bytes are in flight a stage.
template <int STAGE, int STAGES> __device__ inline void ring(ARGUMENTS) {
  extern __shared__ __align__(128) char memory[];
  __shared__ u64 full[STAGES];
  constexpr int CHUNK = STAGE / LOADS;
  if (threadIdx.x == 0) {
    const char* in[2] = {r0, r1};
    char* out[2] = {w0, w1};
    for (int s = 0; s < STAGES; ++s) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_at(&full[s])) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    const i64 chunks = (bytes + CHUNK - 1) / CHUNK;
    const i64 mine = (chunks - blockIdx.x + gridDim.x - 1) / gridDim.x;
    const auto at = [&](i64 k) { return (blockIdx.x + k * gridDim.x) * CHUNK; };
    const auto size = [&](i64 k) { return (unsigned)(bytes - at(k) < CHUNK ? bytes - at(k) : CHUNK); };
    const auto load = [&](i64 k) {
      const int s = (int)(k % STAGES);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_at(&full[s])), "r"(size(k) * LOADS)
                   : "memory");
      for (int l = 0; l < LOADS; ++l)
        bulk_load(memory + s * STAGE + l * CHUNK, in[l / PER] + at(k) + (l % PER) * bytes, size(k), &full[s]);
    };
#pragma unroll 1
    for (i64 k = 0; k < STAGES && k < mine; ++k) load(k);
#pragma unroll 1
    for (i64 k = 0; k < mine; ++k) {
      const int s = (int)(k % STAGES);
      wait_full(&full[s], (unsigned)(k / STAGES & 1));
#if WRITES == 0
      if (k + STAGES < mine) load(k + STAGES);
#else
      for (int w = 0; w < WRITES; ++w) bulk_store(out[w] + at(k), memory + s * STAGE + (w ? LOADS - 1 : 0) * CHUNK, size(k));
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      if (k >= 1 && k - 1 + STAGES < mine) {
        // all stores but the last have read their stage
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        load(k - 1 + STAGES);
      }
#endif
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  small_parts(0, PASSED);
}
