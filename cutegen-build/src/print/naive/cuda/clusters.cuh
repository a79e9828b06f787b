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

