// What tensor cores multiply in convolutions of channels-first images: filters, packed once for all blocks, and patches of
// the source, in shared memory as they lie in the image, so that each element is read once for all its taps.
//
// Tensor cores take 32-bit words: two taps that are neighbours along a row of the filter, or one of f32. So depth is
// counted in words: over channels, rows of the filter and pairs of its columns, with zeros where there is no tap. A window
// that begins at an odd element finds its pairs in a second copy of the patch, shifted by one element.
//
// Backward data is the same with filters turned around. With a stride, results at one place modulo the stride (a phase)
// meet every stride-th tap only: each phase is a convolution of its own by a smaller filter, with results `step` apart.

#define WORD ((int)(4 / sizeof(ELEMENT)))
#define MMA_WORDS 8

__device__ __forceinline__ int ceil_div(int a, int b) { return (a + b - 1) / b; }

// The sizes of one problem. Channels and filters are those of a group; `stride` is how far windows move in the source.
struct Sizes {
  int batch, groups, channels, filters;
  int source_h, source_w;
  int result_h, result_w;
  int filter_h, filter_w;  // Of the problem.
  int pad_h, pad_w;        // Likewise.
  int stride_h, stride_w;
  int step_h, step_w;
  int dilation_h;
};

#define SIZE_ARGUMENTS                                                                                                  \
  int batch, int groups, int channels, int filters, int source_h, int source_w, int result_h, int result_w,            \
      int filter_h, int filter_w, int pad_h, int pad_w, int stride_h, int stride_w, int step_h, int step_w,            \
      int dilation_h
#define SIZES                                                                                                           \
  Sizes{batch,    groups,   channels, filters, source_h, source_w, result_h, result_w,  filter_h,                      \
        filter_w, pad_h,    pad_w,    stride_h, stride_w, step_h,   step_w,   dilation_h}

// One axis of one phase.
struct Phase {
  int first_tap;  // Of the filter of the problem; then every step-th.
  int taps;       // Of the longest phase.
  int pad;        // From the first pixel of the phase back to where its window begins.

  __device__ __forceinline__ Phase(int phase, int filter, int problem_pad, int step, int dilation) {
#if TURNED
    first_tap = (phase + problem_pad) % step;
    taps = ceil_div(filter, step);
    pad = (taps - 1) * dilation - (phase + problem_pad - first_tap) / step;
#else
    first_tap = 0;
    taps = filter;
    pad = problem_pad;
#endif
  }
  // The tap of the filter that the window meets at place `i`; beyond its end where this phase has none.
  __device__ __forceinline__ int tap(int i, int step) const { return TURNED ? first_tap + (taps - 1 - i) * step : i; }
};

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

__device__ __forceinline__ unsigned operand_of(ELEMENT element) {
#if KIND == 0
  unsigned value;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(value) : "f"(element));
  return value;
#else
  return element;
#endif
}

// Filters as blocks read them: for each phase, group, block of FILTERS and chunk of CHANNELS, FILTERS lines. One thread for
// each word.
extern "C" __global__ void __launch_bounds__(256)
    conv_tensor_filters(const ELEMENT* w, unsigned* packed, SIZE_ARGUMENTS, long long stride_filter,
                        long long stride_channel, long long stride_group, long long stride_tap_h,
                        long long stride_tap_w) {
  const Depth depth(ceil_div(filter_h, step_h), ceil_div(filter_w, step_w));
  const int chunks = ceil_div(channels, CHANNELS);
  const int blocks = ceil_div(filters, FILTERS);
  long long index = blockIdx.x * 256ll + threadIdx.x;
  if (index >= (long long)step_h * step_w * groups * blocks * chunks * FILTERS * depth.line) return;
  unsigned* const to = packed + index;
  const int word = (int)(index % depth.line);
  index /= depth.line;
  const int filter = (int)(index % FILTERS + index / FILTERS / chunks % blocks * FILTERS);
  const int chunk = (int)(index / FILTERS % chunks);
  const int group = (int)(index / FILTERS / chunks / blocks % groups);
  const int phase = (int)(index / FILTERS / chunks / blocks / groups);
  const Phase vertical(phase / step_w, filter_h, pad_h, step_h, 1);
  const Phase horizontal(phase % step_w, filter_w, pad_w, step_w, 1);
  const int channel = chunk * CHANNELS + word / depth.row_words / vertical.taps;
  const int row = vertical.tap(word / depth.row_words % vertical.taps, step_h);
  unsigned value = 0;
  if (word < depth.words && filter < filters && channel < channels && row < filter_h) {
    const ELEMENT* const taps = w + group * stride_group + filter * stride_filter + channel * stride_channel;
#pragma unroll
    for (int i = 0; i < WORD; ++i) {
      const int place = word % depth.row_words * WORD + i;
      const int column = horizontal.tap(place, step_w);
      if (place >= horizontal.taps || column >= filter_w) continue;
      value |= operand_of(taps[row * stride_tap_h + column * stride_tap_w]) << (i * 16);
    }
  }
  *to = value;
}

// `bytes` of global memory into shared memory, behind everybody's back; zeros where there is nothing to copy.
template <int bytes>
__device__ __forceinline__ void copy(void* to, const void* from, bool exists) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  const int size = exists ? bytes : 0;
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(size));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(size));
  }
}

// What a block has of the source: of each image and channel rows of words, from the word on that holds the first element
// of the first window, `lead` elements into it. Rows and channels are 8 banks apart, or 24, so that the rows of a window
// that are read together are in different ones.
struct Patch {
  int lead;
  int rows;     // Of one channel.
  int words;    // Of one row, as far as windows see it.
  int pitch;    // Words from one row to the next.
  int channel;  // Words from one channel to the next.
  int size;     // Words of all, whole rounds of the banks.

  __device__ __forceinline__ Patch(const Sizes& sizes, const Phase& vertical, const Phase& horizontal) {
    lead = WORD == 2 ? horizontal.pad & 1 : 0;
    rows = (TILE_H - 1) * sizes.stride_h + (vertical.taps - 1) * sizes.dilation_h + 1;
    words = ((TILE_W - 1) * sizes.stride_w + horizontal.taps + WORD - 1) / WORD + (WORD - 1);
    pitch = ceil_div(max(words, 8) - 8, 16) * 16 + 8;
    channel = rows * pitch + (rows % 2 == 0 ? 8 : 0);
    size = ceil_div(TILE_IMAGES * CHANNELS * channel, 32) * 32;
  }
};

// Where a patch lies in the source: from image, row and column on, of which the last two may be outside.
struct Origin {
  const ELEMENT* first_channel;
  int images;    // That are left.
  int channels;  // Likewise.
  int y, x;
  int height, width;
  long long stride_n, stride_c, stride_h;
  bool whole_words;  // Every row begins with one.
};

// Begins to copy the patch: words of the source as they are where every row begins with a whole one; elsewhere elements
// are put together.
__device__ __forceinline__ void load_patch(const Origin& origin, const Patch& patch, unsigned* to) {
  for (int line = threadIdx.x / 32; line < TILE_IMAGES * patch.rows; line += THREADS / 32) {
    const int image = TILE_IMAGES == 1 ? 0 : line / patch.rows;
    const int row = line - image * patch.rows;
    const bool exists = (unsigned)(origin.y + row) < (unsigned)origin.height && image < origin.images;
    const ELEMENT* const from = origin.first_channel + image * origin.stride_n + (origin.y + row) * origin.stride_h;
    for (int word = threadIdx.x % 32; word < patch.words; word += 32) {
      const int x = origin.x + word * WORD;
      unsigned* const place = to + image * CHANNELS * patch.channel + row * patch.pitch + word;
      const bool first = exists && (unsigned)x < (unsigned)origin.width;
      const bool second = exists && (unsigned)(x + 1) < (unsigned)origin.width;
#pragma unroll
      for (int channel = 0; channel < CHANNELS; ++channel) {
        const ELEMENT* const element = from + channel * origin.stride_c + x;
        const bool is_one = channel < origin.channels;
        if (origin.whole_words) {
          copy<4>(place + channel * patch.channel, element, first && is_one);
        } else {
          unsigned value = first && is_one ? (unsigned)element[0] : 0u;
          if (second && is_one) value |= (unsigned)element[1] << 16;
          place[channel * patch.channel] = value;
        }
      }
    }
  }
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
