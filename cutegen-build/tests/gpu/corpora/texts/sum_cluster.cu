// Two blocks of a cluster a row; the first reads the other's half from its shared memory.
#include <cooperative_groups.h>
extern "C" __global__ void candidate(const T* x, U* y, I m, I n) {
  __shared__ float part[128];
  auto cluster = cooperative_groups::this_cluster();
  const I row = blockIdx.x / 2;
  const int me = threadIdx.x, rank = (int)cluster.block_rank();
  float s = 0;
  for (I j = LO(128 * rank + me); j < HI(n); j += 256) s = ACC(s + IN(up(x[row * n + j])));
  part[me] = s;
  __syncthreads();
  for (int o = 64; o > 0; o /= 2) {
    if (me < o) part[me] = ADD(part[me], part[me + o]);
    __syncthreads();
  }
  cluster.sync();
  if (rank == 0 && me == 0) y[row] = down<U>(OUT(ADD(part[0], *cluster.map_shared_rank(part, 1)), row));
  cluster.sync();
}
