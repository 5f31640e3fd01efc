// What convolutions of channels-first images on tensor cores share: the sizes of a problem, patches of the source in shared
// memory as they lie in the image, so that each element is read once for all its taps, and the instruction itself.
//
// Tensor cores take 32-bit words: two elements that are neighbours along a row of the image, or one of f32. An f32 is
// rounded to tf32 where the problem allows it. Where it does not (PARTS is 2) it is cut into two numbers of tf32 whose sum
// keeps 21 bits and more of its 24, and three of the four products of such parts are added up. Tensor cores cut what they
// add, always towards zero, which would add up; so they sum STEPS_OF_SUM steps at most, and those sums are added by
// ordinary instructions. Of an infinity the second part is a NaN, and so is what becomes of it.

#define WORD ((int)(4 / sizeof(ELEMENT)))
#define WARPS (THREADS / 32)
// Warps that share the channels of one row of a patch, where rows are too few for them.
#define WARPS_OF_ROW (TILE_H * TILE_IMAGES == 1 ? WARPS : 1)
#define MMA_WORDS 8
#define STEPS_OF_SUM 4

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
  Sizes{batch,    groups,   channels, filters, source_h, source_w, result_h, result_w,  FILTER_H,                      \
        FILTER_W, pad_h,    pad_w,    stride_h, stride_w, step_h,   step_w,   dilation_h}

// Whether only one phase of a backward convolution has a tap, the first: the rest of the result is zeros.
__device__ __forceinline__ bool has_lone_phase(const Sizes& sizes) {
  return TURNED && sizes.step_h * sizes.step_w > 1 && sizes.filter_h * sizes.filter_w == 1 && sizes.pad_h == 0 &&
         sizes.pad_w == 0;
}

// One axis of what windows see. Result `phase` + step * i of the axis meets tap last - step * place of the filter at each
// place of the window of its pixel i; there is no such tap beyond the ends of the filter.
struct Phase {
  int taps;  // Places of a window, the longest of all phases.
  int pad;   // From the first pixel of the phase back to where its window begins.
  int last;  // The tap at the first place.

  __device__ __forceinline__ Phase(int phase, int filter, int problem_pad, int step, int dilation) {
#if TURNED
    taps = ceil_div(filter, step);
#if MERGE_PHASES
    const int first_tap = problem_pad % step;
    // Later phases may begin one place behind the first, which then may have no tap at the first place.
    const int spare = first_tap + (taps - 1) * step >= filter ? 1 : 0;
    pad = (taps - 1) * dilation - problem_pad / step - (first_tap != 0 ? spare : 0);
    taps += first_tap != 0 ? 1 - spare : 0;
#else
    pad = (taps - 1) * dilation - (phase + problem_pad) / step;
#endif
    last = step == 1 ? taps - 1 : phase + problem_pad + pad * step;
#else
    taps = filter;
    pad = problem_pad;
    last = 0;
#endif
  }
  __device__ __forceinline__ int tap(int place, int step) const { return TURNED ? last - place * step : place; }
};

__device__ __forceinline__ unsigned bits_of(ELEMENT element) {
#if KIND == 0
  return __float_as_uint(element);
#else
  return element;
#endif
}

// What tensor cores take for a word: PARTS of it. Rounded by hand, since conversions are slow; tensor cores themselves cut
// what is left of the second part.
__device__ __forceinline__ void split(unsigned word, unsigned part[PARTS]) {
#if PARTS == 2
  part[0] = (word + 0x1000u) & ~0x1fffu;
  part[1] = __float_as_uint(__uint_as_float(word) - __uint_as_float(part[0]));
#elif KIND == 0
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(part[0]) : "f"(__uint_as_float(word)));
#else
  part[0] = word;
#endif
}

__device__ __forceinline__ void multiply(const unsigned* a, const unsigned* b, float* sum) {
#if KIND == 0
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif KIND == 1
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#endif
  asm(MMA " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The small products first, so that they are not lost beside the large one.
__device__ __forceinline__ void multiply_parts(const unsigned a[PARTS][4], const unsigned b[PARTS][2], float* sum) {
#if PARTS == 2
  multiply(a[1], b[0], sum);
  multiply(a[0], b[1], sum);
#endif
  multiply(a[0], b[0], sum);
}

// Four blocks of eight lines by four words.
__device__ __forceinline__ void load_lines(const unsigned* line, unsigned* word) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "r"((unsigned)__cvta_generic_to_shared(line)));
}

// The parts of four blocks of lines.
__device__ __forceinline__ void load_parts(const unsigned* line, unsigned part[PARTS][4]) {
  unsigned words[4];
  load_lines(line, words);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned parts[PARTS];
    split(words[i], parts);
#pragma unroll
    for (int j = 0; j < PARTS; ++j) part[j][i] = parts[j];
  }
}

template <int count>
__device__ __forceinline__ void add(const float* from, float* to) {
#pragma unroll
  for (int i = 0; i < count; ++i) to[i] += from[i];
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
// that are read together are in different ones; channels that eight lanes read are CHANNEL_SHIFT further.
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
    channel = rows * pitch + (rows % 2 == 0 ? 8 : 0) + CHANNEL_SHIFT;
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
  int whole;  // Every row, and what of it a patch begins with, is made of so many whole words: 4, 1, or 0.
};

// Of a tensor at `first`, of which rows of `width` elements are `strides` apart, all of them with or.
__device__ __forceinline__ int whole_words(const ELEMENT* first, int width, long long strides) {
  const long long all = strides | width;
  if ((unsigned long long)first % 16 == 0 && all % (4 * WORD) == 0) return 4;
  return WORD == 1 || ((unsigned long long)first % 4 == 0 && all % 2 == 0) ? 1 : 0;
}

// Begins to copy the patch, `words` at once: those of the source as they are where every row begins with a whole one;
// elsewhere elements are put together.
template <int words>
__device__ __forceinline__ void load_rows(const Origin& origin, const Patch& patch, unsigned* to) {
  const int warp = threadIdx.x / 32;
  for (int line = warp / WARPS_OF_ROW; line < TILE_IMAGES * patch.rows; line += WARPS / WARPS_OF_ROW) {
    const int image = TILE_IMAGES == 1 ? 0 : line / patch.rows;
    const int row = line - image * patch.rows;
    const bool exists = (unsigned)(origin.y + row) < (unsigned)origin.height && image < origin.images;
    const ELEMENT* const from = origin.first_channel + image * origin.stride_n + (origin.y + row) * origin.stride_h;
    for (int word = threadIdx.x % 32 * words; word < patch.words; word += 32 * words) {
      const int x = origin.x + word * WORD;
      unsigned* const place = to + image * CHANNELS * patch.channel + row * patch.pitch + word;
      const bool first = exists && (unsigned)x < (unsigned)origin.width;
      const bool second = exists && (unsigned)(x + 1) < (unsigned)origin.width;
#pragma unroll
      for (int channel = warp % WARPS_OF_ROW; channel < CHANNELS; channel += WARPS_OF_ROW) {
        const ELEMENT* const element = from + channel * origin.stride_c + x;
        const bool is_one = channel < origin.channels;
        if (origin.whole > 0) {
          copy<words * 4>(place + channel * patch.channel, element, first && is_one);
        } else {
          unsigned value = first && is_one ? bits_of(element[0]) : 0u;
          if (second && is_one) value |= bits_of(element[1]) << 16;
          place[channel * patch.channel] = value;
        }
      }
    }
  }
}

// Tiles of several rows are small beside what they need of registers; the wide way is for those of one.
__device__ __forceinline__ void load_patch(const Origin& origin, const Patch& patch, unsigned* to) {
  if (TILE_H == 1 && origin.whole == 4) {
    load_rows<4>(origin, patch, to);
  } else {
    load_rows<1>(origin, patch, to);
  }
}
