// A row's softmax plus its moments and its greatest element, in every element type: what the kit's parts cost together.
using namespace kit;

template <class T>
__device__ __forceinline__ void row(T const* x, T* y, int64_t columns) {
  __shared__ OnlineSoftmax<> softmaxes[32];
  __shared__ Moments<float> moments[32];
  __shared__ Place<float> places[32];
  constexpr int N = VECTOR<T>;
  const int rank = thread_rank(), threads = block_threads();
  T const* from = x + blockIdx.x * columns;
  T* to = y + blockIdx.x * columns;
  auto softmax = OnlineSoftmax<>::none();
  auto moment = Welford<float>::none();
  auto greatest = ArgMax<float>::none();
  each_vector<N>(from, columns, rank, threads, -infinity(), [&](Floats<N> const& v, int64_t first, int count) {
    softmax.template push<N>(v);
    moment = Welford<float>::join(moment, Welford<float>::of<N>(v, count));
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i < count) greatest = ArgMax<float>::join(greatest, {v[i], int(first) + i});
    }
  });
  softmax = block_reduce<OnlineSoftmax<>>(softmax, softmaxes);
  moment = block_reduce<Welford<float>>(moment, moments);
  greatest = block_reduce<ArgMax<float>>(greatest, places);
  each_vector<N, Cache::ONCE>(from, columns, rank, threads, 0.0f, [&](Floats<N> v, int64_t first, int count) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = gelu(softmax.weight(v[i])) + (v[i] - moment.mean) * rsqrtf(moment.m2 / moment.n);
    store_vector<Cache::ONCE>(to + first, v, count);
  });
  if (rank == 0) from_f32(to[greatest.index], 0.0f);
}

extern "C" __global__ void row_f32(float const* x, float* y, int64_t columns) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  row(x, y, columns);
}
extern "C" __global__ void row_f16(__half const* x, __half* y, int64_t columns) { row(x, y, columns); }
extern "C" __global__ void row_bf16(__nv_bfloat16 const* x, __nv_bfloat16* y, int64_t columns) { row(x, y, columns); }
extern "C" __global__ void row_i8(int8_t const* x, int8_t* y, int64_t columns) { row(x, y, columns); }

// Prefix sums of a tile's rows: whatever lies around the plane counts as 0.
extern "C" __global__ void tile_sums(__half const* x, float* y, int height, int width) {
  __shared__ __align__(16) __half tiles[2][18 * 80];
  __shared__ float slots[32];
  const Plane<__half> plane{x, width, height, width};
  load_tile_async(tiles[0], 80, 18, 66, plane, -1, -8, __float2half_rn(0.0f));
  commit_loads();
  load_tile_async(tiles[1], 80, 18, 66, plane, 15, -8, __float2half_rn(0.0f));
  commit_loads();
  wait_loads<1>();
  __syncthreads();
  const auto sums = block_scan<Sum<float>>(to_f32(tiles[0][thread_rank()]), slots);
  wait_loads();
  __syncthreads();
  y[thread_rank()] = sums.before + sums.through + sums.total + to_f32(tiles[1][thread_rank()]);
}
