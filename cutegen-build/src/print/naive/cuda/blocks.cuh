// What the threads of a block, and the blocks of a cluster, have in shares is joined in a tree that is the same at every
// launch. All threads call these together; `join` takes two shares and gives one.
static constexpr int CG_SHARE = 24;

// One memory for shares of every type: a kernel has 48 KiB.
template <int THREADS>
CG_FN unsigned char* cg_share_bytes() {
  __shared__ __align__(16) unsigned char shares[THREADS * CG_SHARE];
  return shares;
}

template <int THREADS, class T>
CG_FN T* cg_shares() {
  static_assert(sizeof(T) <= CG_SHARE, "a share");
  return reinterpret_cast<T*>(cg_share_bytes<THREADS>());
}

template <int THREADS, class T, class Join>
CG_FN T cg_of_block(T own, Join join) {
  T* const shares = cg_shares<THREADS, T>();
  shares[threadIdx.x] = own;
  for (unsigned left = THREADS / 2; left > 0; left /= 2) {
    __syncthreads();
    if (threadIdx.x < left) shares[threadIdx.x] = join(shares[threadIdx.x], shares[threadIdx.x + left]);
  }
  __syncthreads();
  const T all = shares[0];
  __syncthreads();
  return all;
}

CG_FN void cg_cluster_sync() {
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}

template <int THREADS, int BLOCKS, class T, class Join>
CG_FN T cg_of_cluster(T own, Join join) {
  T* const shares = cg_shares<THREADS, T>();
  T all = cg_of_block<THREADS>(own, join);
  if (threadIdx.x == 0) shares[0] = all;
  cg_cluster_sync();
  all = *static_cast<T*>(__cluster_map_shared_rank(shares, 0));
  for (unsigned block = 1; block < BLOCKS; ++block)
    all = join(all, *static_cast<T*>(__cluster_map_shared_rank(shares, block)));
  cg_cluster_sync();
  return all;
}

// Where the largest or smallest value lies, as a loop finds it: the first NaN if there is one, the lowest index of equals.
template <class T>
struct cg_leader { T best; int64_t at; bool any; };
template <bool LARGEST, class T>
CG_FN cg_leader<T> cg_better(cg_leader<T> a, cg_leader<T> b) {
  if (!a.any || !b.any) return a.any ? a : b;
  const bool nan_a = a.best != a.best, nan_b = b.best != b.best;
  if (nan_a != nan_b) return nan_a ? a : b;
  if (nan_a || a.best == b.best) return a.at < b.at ? a : b;
  return (LARGEST ? a.best > b.best : a.best < b.best) ? a : b;
}
