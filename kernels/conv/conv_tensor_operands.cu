// What blocks multiply with patches in convolutions on tensor cores: filters, packed once for all blocks.
//
// Depth is counted in words: over channels, rows of the filter and pairs of its columns, with zeros where there is no tap.
// A window that begins at an odd element finds its pairs in a second copy of the patch, shifted by one element.
//
// Backward data is the same with filters turned around. With a stride, results at one place modulo the stride (a phase)
// meet every stride-th tap only: each phase is a convolution of its own by a smaller filter, with results `step` apart.
// Where filters are so few that fragments would be empty, all phases are merged: each is a group of rows of its own, with
// zeros at the places of the common window that it has no tap for. An infinity there becomes a NaN.

// How the filters of one chunk of channels lie: lines of whole steps of the tensor cores and four words, so that eight
// lines that are read together are in different banks.
struct Depth {
  int row_words;  // Of one row of one filter.
  int words;      // Of CHANNELS channels.
  int steps;
  int line;  // Words from one filter to the next.

  __device__ __forceinline__ Depth(int taps_h, int taps_w) {
    row_words = ceil_div(taps_w, WORD);
    words = CHANNELS * taps_h * row_words;
    steps = ceil_div(words, MMA_WORDS);
    line = steps * MMA_WORDS + 4;
  }
};

// The filters of a block are rows: of one phase, or of all phases, one after another.
struct Rows {
  int count;    // Of all blocks.
  int windows;  // Phases that have a window of their own.
  const Sizes& sizes;

  __device__ __forceinline__ explicit Rows(const Sizes& of)
      : count(of.filters * (MERGE_PHASES ? of.step_h * of.step_w : 1)),
        windows(MERGE_PHASES || has_lone_phase(of) ? 1 : of.step_h * of.step_w),
        sizes(of) {}
  __device__ __forceinline__ int filter(int row) const { return MERGE_PHASES ? row % sizes.filters : row; }
  __device__ __forceinline__ int phase(int row, int window) const {
    return MERGE_PHASES ? row / sizes.filters : window;
  }
};

// Filters as blocks read them: for each window, group, block of FILTERS rows and chunk of CHANNELS, FILTERS lines. One
// thread for each word.
extern "C" __global__ void __launch_bounds__(256)
    conv_tensor_filters(const ELEMENT* w, unsigned* packed, SIZE_ARGUMENTS, long long stride_filter,
                        long long stride_channel, long long stride_group, long long stride_tap_h,
                        long long stride_tap_w) {
  const Sizes sizes = SIZES;
  const Rows rows(sizes);
  const int chunks = ceil_div(channels, CHANNELS);
  const int blocks = ceil_div(rows.count, FILTERS);
  long long index = blockIdx.x * 256ll + threadIdx.x;
  unsigned* const to = packed + index;
  const Depth depth(Phase(0, filter_h, pad_h, step_h, dilation_h).taps, Phase(0, filter_w, pad_w, step_w, 1).taps);
  if (index >= (long long)rows.windows * groups * blocks * chunks * FILTERS * depth.line) return;
  const int word = (int)(index % depth.line);
  index /= depth.line;
  const int row = (int)(index % FILTERS + index / FILTERS / chunks % blocks * FILTERS);
  const int chunk = (int)(index / FILTERS % chunks);
  const int group = (int)(index / FILTERS / chunks / blocks % groups);
  const int phase = rows.phase(row, (int)(index / FILTERS / chunks / blocks / groups));
  const Phase vertical(phase / step_w, filter_h, pad_h, step_h, dilation_h);
  const Phase horizontal(phase % step_w, filter_w, pad_w, step_w, 1);
  const int channel = chunk * CHANNELS + word / depth.row_words / vertical.taps;
  const int tap_h = vertical.tap(word / depth.row_words % vertical.taps, step_h);
  unsigned value = 0;
  if (word < depth.words && row < rows.count && channel < channels && (unsigned)tap_h < (unsigned)filter_h) {
    const ELEMENT* const taps =
        w + group * stride_group + rows.filter(row) * stride_filter + channel * stride_channel + tap_h * stride_tap_h;
#pragma unroll
    for (int i = 0; i < WORD; ++i) {
      const int place = word % depth.row_words * WORD + i;
      const int tap_w = horizontal.tap(place, step_w);
      if (place >= horizontal.taps || (unsigned)tap_w >= (unsigned)filter_w) continue;
      value |= bits_of(taps[tap_w * stride_tap_w]) << (i * 16);
    }
  }
  *to = value;
}

// Where the words of depth lie from the first word of their window, in bytes, and in the lowest bits whether a word is
// whole (0), half (1) or nothing (2): an infinity beside the window must not meet a zero of the filter.
__device__ __forceinline__ void find_taps(const Depth& depth, const Patch& patch, int taps_h, int taps_w,
                                          int dilation_h, unsigned* taps) {
  for (int i = threadIdx.x; i < depth.steps * MMA_WORDS; i += THREADS) {
    const int column = i % depth.row_words;
    const int row = i / depth.row_words % taps_h;
    const int channel = i / depth.row_words / taps_h;
    const int place = channel * patch.channel + row * dilation_h * patch.pitch + column;
    taps[i] = i >= depth.words ? 2u : place * 4u + (WORD == 2 && column * 2 + 1 == taps_w ? 1u : 0u);
  }
}
