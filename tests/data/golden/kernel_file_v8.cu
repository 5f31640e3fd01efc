// Each element becomes the sum of all, which the blocks exchange in one launch.
__device__ void wait_for_all(unsigned* arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}

extern "C" __global__ void clear(unsigned* arrived) { *arrived = 0; }

extern "C" __global__ void total(const float* x, float* y, unsigned* arrived, int n) {
  float* const parts = (float*)(arrived + 1);
  float sum = 0;
  for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  if (WAITS) wait_for_all(arrived);
  float all = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) all += parts[block];
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) y[i] = all;
}
