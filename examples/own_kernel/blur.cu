// The mean of each element of a picture and its neighbours in the row, as an author of templates
// would bring it: what is tuned are arguments of the template.
namespace image {

// `Sum` adds up, and each thread computes `kLines` rows.
template <typename Sum, int kRadius, int kLines>
__global__ void blur(const float* x, float* y, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int first = (blockIdx.y * blockDim.y + threadIdx.y) * kLines;
  if (column >= columns) return;
  for (int row = first; row < min(first + kLines, rows); ++row) {
    const float* const line = x + (long long)row * columns;
    Sum sum = 0;
    for (int k = -kRadius; k <= kRadius; ++k) sum += line[min(max(column + k, 0), columns - 1)];
    y[(long long)row * columns + column] = sum / (2 * kRadius + 1);
  }
}

}  // namespace image

extern "C" __global__ void plain_blur(const float* x, float* y, int rows, int columns) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= (long long)rows * columns) return;
  const long long line = i / columns * columns;
  double sum = 0;
  for (int k = -RADIUS; k <= RADIUS; ++k) {
    sum += x[line + min(max((int)(i - line) + k, 0), columns - 1)];
  }
  y[i] = sum / (2 * RADIUS + 1);
}
