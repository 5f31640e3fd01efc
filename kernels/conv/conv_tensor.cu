// Convolutions of channels-first images on tensor cores, forward and backward data: bf16, f16 and f32, with sums in f32. A
// block computes FILTERS rows (channels of the result) at TILE_W x TILE_H pixels of TILE_IMAGES images. While its warps
// multiply CHANNELS channels of the source, the next ones are on their way.

#define PIXELS (TILE_W * TILE_H * TILE_IMAGES)
#define WARP_F (FILTERS / WARPS_F)
#define WARP_P (PIXELS / WARPS_P)
#define ROWS (WARP_F / 16)
#define COLUMNS (WARP_P / 8)

// What this lane's pixels see.
struct Windows {
  const char* first[COLUMNS];  // The first word of each.
  bool is_shifted;             // They are in the shifted copy. The same for all pixels of a lane: tiles are even.

  __device__ __forceinline__ Windows(const unsigned* plain, const unsigned* shifted, const Patch& patch,
                                     const Sizes& sizes) {
    const int first_pixel = threadIdx.x / 32 / WARPS_F * WARP_P + threadIdx.x % 32 / 4;
    is_shifted = (first_pixel % TILE_W * sizes.stride_w + patch.lead) % WORD == 1;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const int pixel = first_pixel + i * 8;
      const int column = pixel % TILE_W * sizes.stride_w + patch.lead;
      const int row = pixel / TILE_W % TILE_H * sizes.stride_h;
      const int image = pixel / (TILE_W * TILE_H);
      first[i] = (const char*)((is_shifted ? shifted : plain) + image * CHANNELS * patch.channel + row * patch.pitch +
                               column / WORD);
    }
  }
};

// Adds what one step of the tensor cores contributes.
__device__ __forceinline__ void multiply_step(const unsigned* lines, const unsigned* taps, const Depth& depth,
                                              const Windows& windows, int moved, float sum[ROWS][COLUMNS][4]) {
  unsigned a[ROWS][PARTS][4];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) load_parts(lines + i * 16 * depth.line, a[i]);
  unsigned place[2], mask[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned tap = taps[threadIdx.x % 4 + i * 4];
    place[i] = (tap & ~3u) + moved;
    mask[i] = (tap & 2) ? 0u : (tap & 1) ? 0xffffu : ~0u;
  }
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) {
    unsigned b[PARTS][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      unsigned parts[PARTS];
      split(*(const unsigned*)(windows.first[j] + place[i]) & mask[i], parts);
#pragma unroll
      for (int part = 0; part < PARTS; ++part) b[part][i] = parts[part];
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) multiply_parts(a[i], b, sum[i][j]);
  }
}

// Adds what one chunk contributes. `lines` are those of this lane; patches of the second stage are `moved` bytes behind.
__device__ __forceinline__ void multiply_chunk(const unsigned* lines, const unsigned* taps, const Depth& depth,
                                               const Windows& windows, int moved, float sum[ROWS][COLUMNS][4]) {
#if PARTS == 2
  for (int first = 0; first < depth.steps; first += STEPS_OF_SUM) {
    float sum_of_steps[ROWS][COLUMNS][4] = {};
    const int end = min(first + STEPS_OF_SUM, depth.steps);
#pragma unroll 2
    for (int step = first; step < end; ++step) {
      multiply_step(lines + step * MMA_WORDS, taps + step * MMA_WORDS, depth, windows, moved, sum_of_steps);
    }
    add<ROWS * COLUMNS * 4>(&sum_of_steps[0][0][0], &sum[0][0][0]);
  }
#else
#pragma unroll 2
  for (int step = 0; step < depth.steps; ++step) {
    multiply_step(lines + step * MMA_WORDS, taps + step * MMA_WORDS, depth, windows, moved, sum);
  }
#endif
}

#if SPLIT_K > 1
typedef float STORED;
#else
typedef ELEMENT STORED;
#endif

__device__ __forceinline__ STORED stored(float sum, float shift) {
#if SPLIT_K > 1
  return sum;
#else
  return rounded(sum + shift);
#endif
}

struct alignas(4 * sizeof(STORED)) Four {
  STORED elements[4];
};

// Where the results of a block go: pixels of one window, from the first one on.
struct Results {
  ELEMENT* result;
  const ELEMENT* bias;
  float* partial;  // Of this split; where depth is not split not read.
  int image, y, x;
  int first_row, group, window;
  long long stride_n, stride_c, stride_h;
  bool is_lone;  // Their phase is the only one.

  // Two neighbours of one row, at `pixel` of the tile.
  __device__ __forceinline__ void put(const Sizes& sizes, int row, int pixel, float first, float second) const {
    const Rows rows(sizes);
    const int phase = rows.phase(row, window);
    const int at_x = (x + pixel % TILE_W) * sizes.step_w + phase % sizes.step_w;
    const int at_y = (y + pixel / TILE_W % TILE_H) * sizes.step_h + phase / sizes.step_w;
    const int at_image = image + pixel / (TILE_W * TILE_H);
    if (row >= rows.count || at_y >= sizes.result_h || at_image >= sizes.batch) return;
    const int channel = group * sizes.filters + rows.filter(row);
    const float shift = HAS_BIAS ? real_of(bias[HAS_BIAS ? channel : 0]) : 0.0f;
#if SPLIT_K > 1
    const long long plane = (long long)at_image * sizes.groups * sizes.filters + channel;
    const long long line = sizes.result_w;
    STORED* const to = partial + (plane * sizes.result_h + at_y) * line + at_x;
#else
    const long long line = stride_h;
    STORED* const to = result + at_image * stride_n + channel * stride_c + at_y * line + at_x;
#endif
    if (TURNED && is_lone) {
      for (int i = 0; i < min(sizes.step_h, sizes.result_h - at_y); ++i) {
        put_cells(sizes, to + i * line, at_x, i == 0 ? stored(first, shift) : stored(0, shift),
                  i == 0 ? stored(second, shift) : stored(0, shift), stored(0, shift));
      }
      return;
    }
    const bool has_second = at_x + sizes.step_w < sizes.result_w;
#if KIND != 0 && SPLIT_K == 1
    if (has_second && sizes.step_w == 1 && (unsigned long long)to % 4 == 0) {
      *(unsigned*)to = rounded(first + shift) | (unsigned)rounded(second + shift) << 16;
      return;
    }
#endif
    if (at_x < sizes.result_w) to[0] = stored(first, shift);
    if (has_second) to[sizes.step_w] = stored(second, shift);
  }

  // Both of them on one line of the result, with what is between and behind them.
  __device__ __forceinline__ void put_cells(const Sizes& sizes, STORED* to, int at_x, STORED first, STORED second,
                                            STORED other) const {
    if (sizes.step_w == 2 && at_x + 4 <= sizes.result_w && (unsigned long long)to % sizeof(Four) == 0) {
      *(Four*)to = {first, other, second, other};
      return;
    }
    for (int i = 0; i < min(2 * sizes.step_w, sizes.result_w - at_x); ++i) {
      to[i] = i == 0 ? first : i == sizes.step_w ? second : other;
    }
  }
};

// The sums of the chunks of one block.
__device__ __forceinline__ void sum_chunks(const Origin& origin, const unsigned* packed, const Sizes& sizes,
                                           const Phase& vertical, const Phase& horizontal, int first_chunk,
                                           int end_chunk, float sum[ROWS][COLUMNS][4]) {
  extern __shared__ uint4 shared_words[];
  const Depth depth(vertical.taps, horizontal.taps);
  const Patch patch(sizes, vertical, horizontal);
  const int filter_words = FILTERS * depth.line;
  unsigned* const lines = (unsigned*)shared_words;
  unsigned* const taps = lines + 2 * filter_words;
  unsigned* const plain = taps + depth.steps * MMA_WORDS;
  unsigned* const shifted = plain + 2 * patch.size + 16;
  const bool has_shifted = WORD == 2 && (sizes.stride_w | patch.lead) % 2 == 1;
  const Windows windows(plain, shifted, patch, sizes);
  find_taps(depth, patch, vertical.taps, horizontal.taps, sizes.dilation_h, taps);

  const auto load = [&](int chunk) {
    const int stage = (chunk - first_chunk) % 2;
    const unsigned* const from = packed + (long long)chunk * filter_words;
    for (int i = threadIdx.x * 4; i < filter_words; i += THREADS * 4) {
      copy<16>(lines + stage * filter_words + i, from + i, true);
    }
    Origin of_chunk = origin;
    of_chunk.first_channel += chunk * CHANNELS * origin.stride_c;
    of_chunk.channels = sizes.channels - chunk * CHANNELS;
    of_chunk.x -= patch.lead;
    load_patch(of_chunk, patch, plain + stage * patch.size);
    asm volatile("cp.async.commit_group;");
  };
  if (first_chunk < end_chunk) load(first_chunk);
  const int lane = threadIdx.x % 32;
  const int my_line = (threadIdx.x / 32 % WARPS_F * WARP_F + lane % 16) * depth.line + lane / 16 * 4;
  for (int chunk = first_chunk; chunk < end_chunk; ++chunk) {
    const int stage = (chunk - first_chunk) % 2;
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    if (has_shifted) {
      const unsigned* const from = plain + stage * patch.size;
      for (int i = threadIdx.x; i < patch.size - 1; i += THREADS) shifted[i] = __funnelshift_r(from[i], from[i + 1], 16);
    }
    if (chunk + 1 < end_chunk) load(chunk + 1);
    if (has_shifted) __syncthreads();
    const int moved = windows.is_shifted ? 0 : stage * patch.size * 4;
    multiply_chunk(lines + stage * filter_words + my_line, taps, depth, windows, moved, sum);
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_tensor(const ELEMENT* source, const ELEMENT* bias, ELEMENT* result, const unsigned* workspace, SIZE_ARGUMENTS,
                long long source_stride_n, long long source_stride_c, long long source_stride_h,
                long long result_stride_n, long long result_stride_c, long long result_stride_h,
                long long packed_words) {
  const Sizes sizes = SIZES;
  const int tiles_w = ceil_div(ceil_div(result_w, step_w), TILE_W);
  const int tiles_h = ceil_div(ceil_div(result_h, step_h), TILE_H);
  const int x = blockIdx.x % tiles_w * TILE_W;
  const int y = blockIdx.x / tiles_w % tiles_h * TILE_H;
  const int image = blockIdx.x / tiles_w / tiles_h * TILE_IMAGES;
  const int split = blockIdx.z % SPLIT_K;
  const int group = blockIdx.z / SPLIT_K % groups;
  const int window = blockIdx.z / SPLIT_K / groups;
  const Phase vertical(window / step_w, filter_h, pad_h, step_h, dilation_h);
  const Phase horizontal(window % step_w, filter_w, pad_w, step_w, 1);
  const int chunks = ceil_div(channels, CHANNELS);
  const int chunks_of_split = ceil_div(chunks, SPLIT_K);

  const int whole = whole_words(source, source_w, source_stride_n | source_stride_c | source_stride_h);
  // Only a window that begins where its pixel is begins with four words.
  const Origin origin = {source + group * channels * source_stride_c + image * source_stride_n,
                         batch - image, 0, y * stride_h - vertical.pad, x * stride_w - horizontal.pad,
                         source_h, source_w, source_stride_n, source_stride_c, source_stride_h,
                         horizontal.pad == 0 ? whole : min(whole, 1)};
  const Depth depth(vertical.taps, horizontal.taps);
  const unsigned* const packed =
      workspace + (((long long)window * groups + group) * gridDim.y + blockIdx.y) * chunks * FILTERS * depth.line;
  float sum[ROWS][COLUMNS][4] = {};
  sum_chunks(origin, packed, sizes, vertical, horizontal, split * chunks_of_split,
             min(chunks, (split + 1) * chunks_of_split), sum);

  float* const partial = (float*)(workspace + packed_words) + (long long)split * batch * groups * filters * result_h * result_w;
  const Results results = {result, bias, partial, image, y, x, (int)blockIdx.y * FILTERS, group, window,
                           result_stride_n, result_stride_c, result_stride_h, has_lone_phase(sizes)};
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int row = results.first_row + warp % WARPS_F * WARP_F + i * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      const int pixel = warp / WARPS_F * WARP_P + j * 8 + lane % 4 * 2;
      results.put(sizes, row, pixel, sum[i][j][0], sum[i][j][1]);
      results.put(sizes, row + 8, pixel, sum[i][j][2], sum[i][j][3]);
    }
  }
}

#if SPLIT_K > 1
// One thread for each element of the result; parts are added in one order.
extern "C" __global__ void __launch_bounds__(256)
    conv_tensor_sum(const unsigned* workspace, const ELEMENT* bias, ELEMENT* result, int batch, int channels,
                    int result_h, int result_w, long long result_stride_n, long long result_stride_c,
                    long long result_stride_h, long long packed_words) {
  const float* const partial = (const float*)(workspace + packed_words);
  const long long size = (long long)batch * channels * result_h * result_w;
  const long long index = blockIdx.x * 256ll + threadIdx.x;
  if (index >= size) return;
  float sum = 0;
#pragma unroll
  for (int split = 0; split < SPLIT_K; ++split) sum += partial[split * size + index];
  const int x = (int)(index % result_w);
  const int y = (int)(index / result_w % result_h);
  const int channel = (int)(index / result_w / result_h % channels);
  const int image = (int)(index / result_w / result_h / channels);
  const float shift = HAS_BIAS ? real_of(bias[HAS_BIAS ? channel : 0]) : 0.0f;
  result[image * result_stride_n + channel * result_stride_c + y * result_stride_h + x] = rounded(sum + shift);
}
#endif
