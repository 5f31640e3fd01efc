namespace golden {
template <typename T, int kBy>
__global__ void bump(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + kBy;
}
}  // namespace golden
