// Gradients of the filters of channels-first convolutions on tensor cores: bf16, f16 and f32, with sums in f32.
//
// A block multiplies FILTERS channels of dy (rows) by all taps of CHANNELS channels of x (columns). Depth is pixels of dy: two
// neighbours along a row are a word, and so are the elements of x that one tap sees from them. Blocks take tiles of
// TILE_W x TILE_H pixels in turns, each with the patch of x that their windows see; while its warps multiply one tile, the
// next is on its way. What each block has summed up is added by another launch, in one order. COLUMNS is how many times
// eight columns each warp has; where the filter's size is compiled in, no more than its taps need.

#define ROWS (FILTERS / WARPS_F / 16)
#define LINE (TILE_W * TILE_H / WORD + 4)
#define STAGE_LINES (FILTERS * LINE)

// Two steps of parts would need more registers than there are.
constexpr int kUnrolledSteps = PARTS == 2 ? 1 : 2;

// How patches lie as the windows of pixels that are neighbours see them. In words of one element as they are. In words of
// two, there is a copy for every place that a tap may have from the first element on, modulo twice the stride: element
// i * stride + place beside the one of the next pixel. Of those, the first is the patch itself where the stride is 1.
struct Spread {
  int copies;   // That are made.
  int size;     // Words of one.
  int pitch;    // From one row to the next.
  int channel;  // From one channel to the next.
  int step;     // From one word of pixels to the next.

  __device__ __forceinline__ Spread(const Patch& patch, const Sizes& sizes) {
    const int stride = sizes.stride_w;
    // Where the filter has one tap all see the same places.
    const bool is_one_place = sizes.filter_w == 1 && patch.lead == 0;
    copies = WORD == 1 ? 0 : stride > 1 ? 2 * stride : is_one_place ? 0 : 1;
    const int apart = WORD == 1 ? 1 : stride;
    size = patch.size / apart;
    pitch = patch.pitch / apart;
    channel = patch.channel / apart;
    step = WORD == 1 ? stride : 1;
  }
};

// Makes the copies of one patch. Rows begin with whole words in each, since strides divide 8.
__device__ __forceinline__ void make_copies(const unsigned* patch, const Spread& spread, int stride, unsigned* to) {
  if (stride == 1) {
    for (int i = threadIdx.x; i < spread.size; i += THREADS) to[i] = __funnelshift_r(patch[i], patch[i + 1], 16);
    return;
  }
  const unsigned short* const elements = (const unsigned short*)patch;
  for (int copy = 0; copy < spread.copies; ++copy) {
    const int place = copy / 2 + copy % 2 * stride;
    for (int i = threadIdx.x; i < spread.size; i += THREADS) {
      const unsigned short* const first = elements + 2 * i * stride + place;
      to[copy * spread.size + i] = first[0] | (unsigned)first[stride] << 16;
    }
  }
}

// What the columns of this lane see of the first pixels of a tile, as words of shared memory.
struct Columns {
  unsigned first[COLUMNS];
  unsigned in_patch;  // A bit for each: it is in the patch itself, of which there are two.

  __device__ __forceinline__ Columns(const Patch& patch, const Spread& spread, const Sizes& sizes, int dilation_w,
                                     int patches, int copies) {
    const int warp = threadIdx.x / 32 / WARPS_F % WARPS_N;
    const int taps = sizes.filter_h * sizes.filter_w;
    in_patch = 0;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      int column = (warp * COLUMNS + j) * 8 + threadIdx.x % 32 / 4;
      if (column >= CHANNELS * taps) column = 0;
      const int place = column % sizes.filter_w * dilation_w + patch.lead;
      const int at = column / taps * spread.channel +
                     column % taps / sizes.filter_w * sizes.dilation_h * spread.pitch + threadIdx.x % 4 * spread.step;
      if (WORD == 1) {
        first[j] = patches + at + place;
        in_patch |= 1u << j;
      } else {
        const int pixel = place / sizes.stride_w;
        const int copy = place % sizes.stride_w * 2 + pixel % 2;
        const bool is_patch = sizes.stride_w == 1 && copy == 0;
        const int made = sizes.stride_w == 1 ? 0 : copy;
        first[j] = (is_patch ? patches : copies + made * spread.size) + at + pixel / 2;
        in_patch |= is_patch ? 1u << j : 0u;
      }
    }
  }
  // Moves to the other of the two patches.
  __device__ __forceinline__ void move(int words) {
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) first[j] += (in_patch >> j & 1) ? words : 0;
  }
};

// A tile of pixels of one image.
struct Tile {
  int image, y, x;

  __device__ __forceinline__ Tile(int index, const Sizes& sizes) {
    const int tiles_w = ceil_div(sizes.result_w, TILE_W);
    const int tiles_h = ceil_div(sizes.result_h, TILE_H);
    x = index % tiles_w * TILE_W;
    y = index / tiles_w % tiles_h * TILE_H;
    image = index / tiles_w / tiles_h;
  }
};

// dy of the filters of this block.
struct Gradients {
  const ELEMENT* first;  // Of the first image and filter.
  int filters;           // That are left.
  long long stride_n, stride_k, stride_h;
  int whole;  // Every row is made of so many whole words: 4, 1, or 0.

  // Begins to copy those of a tile, a line for each filter; zeros where there is no pixel.
  __device__ __forceinline__ void load(const Tile& tile, const Sizes& sizes, unsigned* to) const {
    if (whole == 4) {
      load_words<4>(tile, sizes, to);
    } else {
      load_words<1>(tile, sizes, to);
    }
  }
  template <int words>
  __device__ __forceinline__ void load_words(const Tile& tile, const Sizes& sizes, unsigned* to) const {
    const int row_parts = TILE_W / WORD / words;
    for (int i = threadIdx.x; i < FILTERS * TILE_H * row_parts; i += THREADS) {
      const int filter = i / row_parts / TILE_H;
      const int x = tile.x + i % row_parts * words * WORD;
      const int y = tile.y + i / row_parts % TILE_H;
      const ELEMENT* const from = first + tile.image * stride_n + filter * stride_k + y * stride_h + x;
      unsigned* const place = to + filter * LINE + i % (TILE_H * row_parts) * words;
      const bool exists = filter < filters && y < sizes.result_h && x < sizes.result_w;
      if (whole > 0) {
        copy<words * 4>(place, exists ? from : first, exists);
      } else {
        unsigned value = exists ? bits_of(from[0]) : 0u;
        if (WORD == 2 && exists && x + 1 < sizes.result_w) value |= bits_of(from[1]) << 16;
        place[0] = value;
      }
    }
  }
};

// Which elements of a lane's words belong to a pixel: x beside the last one must not meet a zero of dy, it may be infinite.
__device__ __forceinline__ unsigned mask_of(int pixels_left) {
  return pixels_left >= WORD ? ~0u : pixels_left > 0 ? 0xffffu : 0u;
}

// Adds what 8 words of pixels contribute.
template <bool has_end>
__device__ __forceinline__ void multiply_step(const unsigned* line, const unsigned* seen, const Columns& columns, int step,
                                              int pixels_left, float sum[ROWS][COLUMNS][4]) {
  unsigned a[ROWS][PARTS][4];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) load_parts(line + i * 16 * LINE, a[i]);
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) {
    unsigned b[PARTS][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      unsigned word = seen[columns.first[j] + i * 4 * step];
      if (has_end) word &= mask_of(pixels_left - (int)(threadIdx.x % 4 + i * 4) * WORD);
      unsigned parts[PARTS];
      split(word, parts);
#pragma unroll
      for (int part = 0; part < PARTS; ++part) b[part][i] = parts[part];
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) multiply_parts(a[i], b, sum[i][j]);
  }
}

// Adds what `width` pixels of one row contribute.
__device__ __forceinline__ void multiply_row(const unsigned* line, const unsigned* seen, const Columns& columns, int step,
                                             int width, float sum[ROWS][COLUMNS][4]) {
  const int pixels = MMA_WORDS * WORD;
  const int whole = width / pixels;
#pragma unroll kUnrolledSteps
  for (int i = 0; i < whole; ++i) {
    multiply_step<false>(line + i * MMA_WORDS, seen + i * MMA_WORDS * step, columns, step, 0, sum);
  }
  if (whole * pixels < width) {
    multiply_step<true>(line + whole * MMA_WORDS, seen + whole * MMA_WORDS * step, columns, step, width - whole * pixels,
                        sum);
  }
}

// Adds what one tile contributes. `lines` are those of this lane.
__device__ __forceinline__ void multiply_tile(const unsigned* lines, const unsigned* seen, const Columns& columns,
                                              const Spread& spread, const Tile& tile, const Sizes& sizes,
                                              float sum[ROWS][COLUMNS][4]) {
  const int height = min(TILE_H, sizes.result_h - tile.y);
  const int width = min(TILE_W, sizes.result_w - tile.x);
  for (int row = threadIdx.x / 32 / WARPS_F / WARPS_N; row < height; row += WARPS_K) {
    const unsigned* const seen_of_row = seen + row * sizes.stride_h * spread.pitch;
    const unsigned* const line = lines + row * (TILE_W / WORD);
#if PARTS == 2
    const int most = STEPS_OF_SUM * MMA_WORDS;
    for (int x = 0; x < width; x += most) {
      float sum_of_steps[ROWS][COLUMNS][4] = {};
      multiply_row(line + x, seen_of_row + x * spread.step, columns, spread.step, min(most, width - x), sum_of_steps);
      add<ROWS * COLUMNS * 4>(&sum_of_steps[0][0][0], &sum[0][0][0]);
    }
#else
    multiply_row(line, seen_of_row, columns, spread.step, width, sum);
#endif
  }
}

// Adds the sums of the warps that share rows and columns to those of the first of them.
__device__ __forceinline__ void sum_warps(float sum[ROWS][COLUMNS][4], float* shared) {
  const int mine = threadIdx.x % (WARPS_F * WARPS_N * 32);
  for (int other = 1; other < WARPS_K; ++other) {
    const int part = threadIdx.x / (WARPS_F * WARPS_N * 32);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS * 4; ++i) {
      float& value = sum[i / 4 / COLUMNS][i / 4 % COLUMNS][i % 4];
      if (part == other) shared[i * WARPS_F * WARPS_N * 32 + mine] = value;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS * 4; ++i) {
      float& value = sum[i / 4 / COLUMNS][i / 4 % COLUMNS][i % 4];
      if (part == 0) value += shared[i * WARPS_F * WARPS_N * 32 + mine];
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_tensor_weights(const ELEMENT* x, const ELEMENT* dy, float* partial, SIZE_ARGUMENTS, int dilation_w,
                        long long x_stride_n, long long x_stride_c, long long x_stride_h, long long y_stride_n,
                        long long y_stride_k, long long y_stride_h) {
  extern __shared__ uint4 shared_words[];
  const Sizes sizes = SIZES;
  const Phase vertical(0, sizes.filter_h, pad_h, 1, dilation_h);
  const Phase horizontal(0, (sizes.filter_w - 1) * dilation_w + 1, pad_w, 1, 1);
  const Patch patch(sizes, vertical, horizontal);
  const Spread spread(patch, sizes);
  const int blocks_c = ceil_div(channels, CHANNELS);
  const int group = blockIdx.z / blocks_c;
  const int first_channel = blockIdx.z % blocks_c * CHANNELS;
  const int first_filter = blockIdx.y * FILTERS;

  unsigned* const lines = (unsigned*)shared_words;
  unsigned* const patches = lines + 2 * STAGE_LINES;
  unsigned* const copies = patches + 2 * patch.size + 16;
  Columns columns(patch, spread, sizes, dilation_w, (int)(patches - lines), (int)(copies - lines));

  const ELEMENT* const first_dy = dy + (group * filters + first_filter) * y_stride_k;
  const Gradients gradients = {first_dy,   filters - first_filter, y_stride_n, y_stride_k,
                               y_stride_h, whole_words(dy, result_w, y_stride_n | y_stride_k | y_stride_h)};
  const ELEMENT* const first_x = x + (group * channels + first_channel) * x_stride_c;
  const int whole = whole_words(x, source_w, x_stride_n | x_stride_c | x_stride_h);
  const int whole_of_patch = pad_w == 0 ? whole : min(whole, 1);
  const int tiles = batch * ceil_div(result_h, TILE_H) * ceil_div(result_w, TILE_W);
  const auto load = [&](int index, int stage) {
    const Tile tile(index, sizes);
    gradients.load(tile, sizes, lines + stage * STAGE_LINES);
    const Origin origin = {first_x + tile.image * x_stride_n, 1, channels - first_channel,
                           tile.y * stride_h - vertical.pad, tile.x * stride_w - horizontal.pad - patch.lead,
                           source_h, source_w, x_stride_n, x_stride_c, x_stride_h, whole_of_patch};
    load_patch(origin, patch, patches + stage * patch.size);
    asm volatile("cp.async.commit_group;");
  };

  float sum[ROWS][COLUMNS][4] = {};
  const int lane = threadIdx.x % 32;
  const int my_line = (threadIdx.x / 32 % WARPS_F * ROWS * 16 + lane % 16) * LINE + lane / 16 * 4;
  int stage = 0;
  if (blockIdx.x < tiles) load(blockIdx.x, 0);
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    if (spread.copies > 0) make_copies(patches + stage * patch.size, spread, stride_w, copies);
    if (index + gridDim.x < tiles) load(index + gridDim.x, stage ^ 1);
    if (spread.copies > 0) __syncthreads();
    multiply_tile(lines + stage * STAGE_LINES + my_line, lines, columns, spread, Tile(index, sizes), sizes, sum);
    columns.move(stage == 0 ? patch.size : -patch.size);
    stage ^= 1;
    __syncthreads();
  }
  sum_warps(sum, (float*)shared_words);

  if (threadIdx.x / 32 >= WARPS_F * WARPS_N) return;
  const int taps = sizes.filter_h * sizes.filter_w;
  float* const to = partial + ((long long)blockIdx.x * groups + group) * filters * channels * taps;
  const int warp_n = threadIdx.x / 32 / WARPS_F;
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS * 4; ++i) {
    const int filter = first_filter + (threadIdx.x / 32 % WARPS_F * ROWS + i / 4 / COLUMNS) * 16 + i % 4 / 2 * 8 + lane / 4;
    const int column = (warp_n * COLUMNS + i / 4 % COLUMNS) * 8 + lane % 4 * 2 + i % 2;
    if (filter >= filters || column >= CHANNELS * taps || first_channel + column / taps >= channels) continue;
    to[((long long)filter * channels + first_channel) * taps + column] = sum[i / 4 / COLUMNS][i / 4 % COLUMNS][i % 4];
  }
}

// The sum of all parts. A row of eight threads for each element; each adds every eighth part.
extern "C" __global__ void __launch_bounds__(256)
    conv_tensor_weights_sum(const float* partial, ELEMENT* dw, int parts, int channels, int filter_h, int filter_w,
                            long long size, long long w_stride_k, long long w_stride_c, long long w_stride_h,
                            long long w_stride_w) {
  __shared__ float sums[8][32];
  const long long index = blockIdx.x * 32ll + threadIdx.x;
  float sum = 0;
#pragma unroll 4
  for (int part = threadIdx.y; part < parts; part += 8) {
    if (index < size) sum += partial[part * size + index];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || index >= size) return;
#pragma unroll
  for (int i = 1; i < 8; ++i) sum += sums[i][threadIdx.x];
  const int taps = FILTER_H * FILTER_W;
  const int tap = (int)(index % taps);
  const long long filter = index / taps / channels;
  dw[filter * w_stride_k + index / taps % channels * w_stride_c + tap / FILTER_W * w_stride_h + tap % FILTER_W * w_stride_w] =
      rounded(sum);
}
