// Tensor cores: a warp a tile of 16 x 16.
#include <mma.h>
extern "C" __global__ void candidate(const T* x, const T* w, U* y, I m, I n, I k) {
  using namespace nvcuda::wmma;
  __shared__ float tile[256];
  const I i = (I)blockIdx.y * 16, j = (I)blockIdx.x * 16;
  fragment<matrix_a, 16, 16, 16, T, row_major> a;
  fragment<matrix_b, 16, 16, 16, T, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 0.0f);
  for (I l = LO(0); l < HI(k); l += 16) {
    load_matrix_sync(a, x + i * k + l, (unsigned)k);
    load_matrix_sync(b, w + j * k + l, (unsigned)k);
    mma_sync(c, a, b, c);
  }
  store_matrix_sync(tile, c, 16, mem_row_major);
  __syncwarp();
  for (int e = threadIdx.x; e < 256; e += 32) {
    const I at = (i + e / 16) * n + j + e % 16;
    y[at] = down<U>(OUT(tile[e], at));
  }
}
