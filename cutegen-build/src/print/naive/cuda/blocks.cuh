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

