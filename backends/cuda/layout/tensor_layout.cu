// Changes of layout around products and engines: transpositions, elements in two parts, windows of
// images as matrices and back, and sums of partial products. Compiled behind
// tensor_layout_arguments.h, once for each element type (TYPE: 0 f64, 1 f32, 2 f16, 3 bf16; 4 of
// one byte, which are only moved) and for every size. A test compiles the same text for the host
// with element types of its own.

#ifdef __CUDACC_RTC__
#if TYPE == 0
typedef double Element;
typedef double Sum;
#elif TYPE == 1
#define SPLITS
typedef float Element;
typedef float Sum;
#elif TYPE == 4
#define ONLY_MOVED
typedef unsigned char Element;
#else
typedef unsigned short Element;
typedef float Sum;
#endif

#ifndef ONLY_MOVED
__device__ Sum widened(Element element) {
#if TYPE == 2
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element));
  return value;
#elif TYPE == 3
  return __uint_as_float((unsigned)element << 16);
#else
  return element;
#endif
}

// To nearest, ties to even.
__device__ Element rounded(Sum sum) {
#if TYPE == 2
  Element element;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(element) : "f"(sum));
  return element;
#elif TYPE == 3
  const unsigned bits = __float_as_uint(sum);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (Element)(bits >> 16 | 0x40);
  return (Element)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#else
  return sum;
#endif
}
#endif
#endif

namespace attune::cuda {

// A block of relayout(): as many threads along a line, and so many lines.
constexpr int kThreadsAlong = 32;
constexpr int kLinesAtOnce = 8;
// Narrow elements move in pairs: a warp moves 128 bytes of a line, or 64 of single bytes.
constexpr int kPair = sizeof(Element) <= 2 ? 2 : 1;
constexpr int kTile = kThreadsAlong * kPair;
constexpr int kWord = 16 / sizeof(Element);

struct alignas(16) Word {
  Element elements[kWord];
};
struct alignas(kPair * sizeof(Element)) Pair {
  Element elements[kPair];
};

// One tile between its two lines of sight. An odd number of banks from row to row.
struct alignas(16) Tile {
  Element at[kTile][kTile + kPair];
};

struct TilePlace {
  long long matrix, row, column;  // Of its first element.
};

__device__ Pair read_pair(const Relayout& task, const Element* line, long long column) {
  const Element* const source = line + column;
  if (task.is_from_even && column + kPair <= task.columns) return *(const Pair*)source;
  Pair pair = {};
  for (int i = 0; i < kPair; ++i) {
    if (column + i < task.columns) pair.elements[i] = source[i];
  }
  return pair;
}

// What one thread of a block reads of a matrix: pairs of neighbours in a row, all of them on their
// way at once.
__device__ void read_tile(const Relayout& task, const Element* from, const TilePlace& place,
                          Tile& tile) {
  const int along = threadIdx.x * kPair;
  Pair pairs[kTile / kLinesAtOnce];
#pragma unroll
  for (int i = 0; i < kTile / kLinesAtOnce; ++i) {
    const long long row = place.row + threadIdx.y + i * kLinesAtOnce;
    pairs[i] = {};
    if (row >= task.rows || place.matrix >= task.matrices) continue;
    pairs[i] = read_pair(task, from + row * task.from_row, place.column + along);
  }
#pragma unroll
  for (int i = 0; i < kTile / kLinesAtOnce; ++i) {
    *(Pair*)&tile.at[threadIdx.y + i * kLinesAtOnce][along] = pairs[i];
  }
}

__device__ Element whole_of(Element element) { return element; }

// What it writes: pairs of neighbours in a line of the matrix `to`, and of every element a part.
template <Element (*part_of)(Element)>
__device__ void write_tile(const Relayout& task, Element* to, const TilePlace& place,
                           const Tile& tile) {
  const bool turned = task.is_transposed;
  const long long first_line = turned ? place.column : place.row;
  const long long lines = turned ? task.to_columns : task.to_rows;
  const int along = threadIdx.x * kPair;
  const long long first = (turned ? place.row : place.column) + along;
  const long long end = turned ? task.to_rows : task.to_columns;
  for (int line = threadIdx.y; line < kTile && first_line + line < lines; line += kLinesAtOnce) {
    Pair pair;
    for (int i = 0; i < kPair; ++i) {
      pair.elements[i] = part_of(turned ? tile.at[along + i][line] : tile.at[line][along + i]);
    }
    Element* const target = to + (first_line + line) * task.to_line + first;
    if (task.is_to_even && first + kPair <= end) {
      *(Pair*)target = pair;
      continue;
    }
    for (int i = 0; i < kPair; ++i) {
      if (first + i < end) target[i] = pair.elements[i];
    }
  }
}

__device__ TilePlace place_of_block(const Relayout& task) {
  const long long across = (task.to_columns + kTile - 1) / kTile;
  return {blockIdx.y, blockIdx.x / across * kTile, blockIdx.x % across * kTile};
}

extern "C" __global__ void __launch_bounds__(256) relayout(const __grid_constant__ Relayout task) {
  __shared__ Tile tile;
  TilePlace place = place_of_block(task);
  for (; place.matrix < task.to_matrices; place.matrix += gridDim.y) {
    read_tile(task, (const Element*)task.from + place.matrix * task.from_matrix, place, tile);
    __syncthreads();
    write_tile<whole_of>(task, (Element*)task.to + place.matrix * task.to_matrix, place, tile);
    __syncthreads();
  }
}

#ifdef SPLITS
// The nearest number with 11 bits, which is what a tensor core reads of an f32; where that would be
// an infinity, the one towards zero. A NaN stays one whatever bits are cut off.
__device__ float tf32_of(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {
    return magnitude == 0x7f800000u ? value : __uint_as_float(bits | 0x400000u);
  }
  const unsigned near = (bits + 0x1000u) & ~0x1fffu;
  return __uint_as_float((near & 0x7fffffffu) == 0x7f800000u ? bits & ~0x1fffu : near);
}

__device__ float high_of(float value) { return tf32_of(value); }

// What the high part leaves, to 11 bits: both together are off by a unit in the last place at most,
// or by two where the high part is cut off. Of infinities and what is no number nothing is left.
__device__ float low_of(float value) {
  const float high = tf32_of(value);
  const bool is_finite = (__float_as_uint(high) & 0x7f800000u) != 0x7f800000u;
  return is_finite ? tf32_of(value - high) : 0.0f;
}

__device__ const Element* from_of(const Split& task, long long matrix) {
  return (const Element*)task.copy.from + matrix / task.run * task.from_run +
         matrix % task.run * task.copy.from_matrix;
}

__device__ Element* to_of(const Split& task, long long matrix) {
  return (Element*)task.copy.to + matrix / task.run * task.to_run +
         matrix % task.run * task.copy.to_matrix;
}

// Both parts of a tile, to where each of the three copies has its own.
__device__ void write_parts(const Split& task, const TilePlace& place, const Tile& tile) {
  Element* to = to_of(task, place.matrix);
  for (int part = 0; part < 3; ++part, to += task.to_part) {
    if (part == task.low_part) {
      write_tile<low_of>(task.copy, to, place, tile);
    } else {
      write_tile<high_of>(task.copy, to, place, tile);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) split(const __grid_constant__ Split task) {
  __shared__ Tile tile;
  TilePlace place = place_of_block(task.copy);
  for (; place.matrix < task.copy.to_matrices; place.matrix += gridDim.y) {
    read_tile(task.copy, from_of(task, place.matrix), place, tile);
    __syncthreads();
    write_parts(task, place, tile);
    __syncthreads();
  }
}
#endif

// A part of the way to an element of the large image: the parts of a pixel and of a value add up to
// its offset and its position.
struct Place {
  long long offset;
  int at[3];
};

// Beyond the image with whatever is added.
__device__ Place nowhere() { return {0, {-(1 << 30), 0, 0}}; }

__device__ Place place_of_pixel(const Unfold& task, unsigned pixel) {
  const Windows& windows = task.windows;
  Place place;
  for (int i = 2; i >= 0; --i) {
    place.at[i] = (int)(pixel % windows.small[i]) * windows.stride[i] - windows.pad[i];
    pixel /= windows.small[i];
  }
  place.offset = pixel * task.from_image;
  for (int i = 0; i < 3; ++i) place.offset += place.at[i] * task.from_pixel[i];
  return place;
}

__device__ Place place_of_value(const Unfold& task, unsigned value) {
  const Windows& windows = task.windows;
  const unsigned taps = windows.filter[0] * windows.filter[1] * windows.filter[2];
  const unsigned inner = windows.is_tap_inner ? taps : windows.channels;
  const unsigned channel = windows.is_tap_inner ? value / inner : value % inner;
  unsigned tap = windows.is_tap_inner ? value % inner : value / inner;
  Place place;
  for (int i = 2; i >= 0; --i) {
    place.at[i] = (int)(tap % windows.filter[i]) * windows.dilation[i];
    tap /= windows.filter[i];
  }
  place.offset = channel * task.from_channel;
  for (int i = 0; i < 3; ++i) place.offset += place.at[i] * task.from_pixel[i];
  return place;
}

__device__ Place place_of_inner(const Unfold& task, long long at) {
  const unsigned extent = task.is_values_inner ? task.values : task.pixels;
  if (at >= extent) return nowhere();
  return task.is_values_inner ? place_of_value(task, (unsigned)at)
                              : place_of_pixel(task, (unsigned)at);
}

__device__ bool is_inside(const Windows& windows, const Place& a, const Place& b) {
  bool inside = true;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    // One comparison for both ends: what is negative is large without a sign.
    inside = inside && (unsigned)(a.at[i] + b.at[i]) < (unsigned)windows.large[i];
  }
  return inside;
}

// A thread owns one word of several columns. With `kWide` the elements of every word are neighbours
// in the image, too, all inside of it or none.
template <bool kWide>
__device__ void unfold_words(const Unfold& task) {
  const long long first = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * kWord;
  if (first >= task.to_leading) return;
  constexpr int kPlaces = kWide ? 1 : kWord;
  Place inner[kPlaces];
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) inner[i] = place_of_inner(task, first + i);
  const unsigned columns = task.is_values_inner ? task.pixels : task.values;
  for (long long matrix = blockIdx.z; matrix < task.matrices; matrix += gridDim.z) {
    const Element* const from = (const Element*)task.from + matrix * task.from_matrix;
    Element* const to = (Element*)task.to + matrix * task.to_matrix;
    long long column = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    for (; column < columns; column += (long long)gridDim.y * blockDim.y) {
      const Place outer = task.is_values_inner ? place_of_pixel(task, (unsigned)column)
                                               : place_of_value(task, (unsigned)column);
      Word word = {};
      if (kWide) {
        if (is_inside(task.windows, inner[0], outer)) {
          word = *(const Word*)(from + (inner[0].offset + outer.offset));
        }
      } else {
#pragma unroll
        for (int i = 0; i < kPlaces; ++i) {
          if (is_inside(task.windows, inner[i], outer)) {
            word.elements[i] = from[inner[i].offset + outer.offset];
          }
        }
      }
      *(Word*)(to + (column * task.to_leading + first)) = word;
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) unfold(const __grid_constant__ Unfold task) {
  unfold_words<false>(task);
}

extern "C" __global__ void __launch_bounds__(256) unfold_wide(const __grid_constant__ Unfold task) {
  unfold_words<true>(task);
}

#ifndef ONLY_MOVED
// Along one axis, the values that lie on one position of the large image: one for each tap that
// meets a position inside of the small image. Found once for all images, because a division takes
// longer than a load.
struct Meetings {
  int count;
  long long first;  // How far the first of them is from the first value of the image.
  long long step;   // From one to the next.
};

__device__ int greatest_common_divisor(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

__device__ int least(int a, int b) { return a < b ? a : b; }

// `from_tap` and `from_small` are the distances between values of neighbours along the axis.
__device__ Meetings meetings_of(const Windows& windows, int axis, int large, long long from_tap,
                                long long from_small) {
  const int stride = windows.stride[axis];
  const int small = windows.small[axis];
  const int scaled = large + windows.pad[axis];
  int at = stride == 1 ? scaled : scaled / stride;
  int rest = scaled - at * stride;  // To the first tap that meets.
  // There are as many of these threads as elements, so that every division counts.
  if (windows.filter[axis] == 1) return {rest == 0 && at < small ? 1 : 0, at * from_small, 0};
  const int dilation = windows.dilation[axis];
  // Every tap_step-th tap meets, each small_step before the last.
  const int tap_step = dilation == 1 ? stride : stride / greatest_common_divisor(stride, dilation);
  const int small_step = dilation == 1 ? 1 : tap_step * dilation / stride;
  int tap = 0;
  while (rest != 0 && ++tap < tap_step) {
    rest -= dilation;
    while (rest < 0) {
      rest += stride;
      --at;
    }
  }
  Meetings meetings = {0, 0, tap_step * from_tap - small_step * from_small};
  const int last = windows.filter[axis] - tap - 1;
  if (rest != 0 || last < 0 || at < 0) return meetings;
  const int past = at - small;  // Those before are beyond the small image.
  const int before = past < 0 ? 0 : (small_step == 1 ? past : past / small_step) + 1;
  const int end =
      1 + least(tap_step == 1 ? last : last / tap_step, small_step == 1 ? at : at / small_step);
  if (before >= end) return meetings;
  meetings.count = end - before;
  meetings.first = tap * from_tap + at * from_small + before * meetings.step;
  return meetings;
}

// Adds to each of `sums` the values of its image, in the order of the taps. `images` are how far
// the images are from `values`: several at once, since each load takes long.
__device__ void add_values(const Sum* values, const Meetings meetings[3],
                           const long long images[kImagesAtOnce], Sum sums[kImagesAtOnce]) {
  for (int depth = 0; depth < meetings[0].count; ++depth) {
    const Sum* row = values + depth * meetings[0].step;
    for (int height = 0; height < meetings[1].count; ++height) {
      const Sum* value = row;
      for (int width = 0; width < meetings[2].count; ++width) {
#pragma unroll
        for (int i = 0; i < kImagesAtOnce; ++i) sums[i] += value[images[i]];
        value += meetings[2].step;
      }
      row += meetings[1].step;
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) fold(const __grid_constant__ Fold task) {
  const Windows& windows = task.windows;
  const unsigned element = blockIdx.x * blockDim.x + threadIdx.x;
  if (element >= task.elements) return;
  unsigned rest = element;
  int channel = 0;
  if (task.is_channels_last) {
    channel = rest % windows.channels;
    rest /= windows.channels;
  }
  long long from_tap = windows.is_tap_inner ? task.from_value : task.from_value * windows.channels;
  long long from_small = task.from_pixel;
  Meetings meetings[3];
#pragma unroll
  for (int i = 2; i >= 0; --i) {
    const unsigned outer = windows.large[i] == 1 ? rest : rest / windows.large[i];
    meetings[i] = meetings_of(windows, i, rest - outer * windows.large[i], from_tap, from_small);
    from_tap *= windows.filter[i];
    from_small *= windows.small[i];
    rest = outer;
  }
  if (!task.is_channels_last) channel = rest;
  // Behind the last axis `from_tap` is how far all taps reach.
  const Sum* const values = (const Sum*)task.from +
                            channel * (windows.is_tap_inner ? from_tap : task.from_value) +
                            meetings[0].first + meetings[1].first + meetings[2].first;
  const Sum shift = task.bias ? widened(((const Element*)task.bias)[channel]) : (Sum)0;
  long long first = (long long)blockIdx.y * kImagesAtOnce;
  for (; first < task.images; first += (long long)gridDim.y * kImagesAtOnce) {
    long long images[kImagesAtOnce];
    Sum sums[kImagesAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kImagesAtOnce; ++i) {
      images[i] = (first + i < task.images ? first + i : first) * task.from_image;
    }
    add_values(values, meetings, images, sums);
    Element* const to = (Element*)task.to + first * task.elements + element;
#pragma unroll
    for (int i = 0; i < kImagesAtOnce; ++i) {
      if (first + i < task.images) to[i * (long long)task.elements] = rounded(sums[i] + shift);
    }
  }
}

__device__ Sum activated(int activation, Sum x) {
  switch (activation) {
    case kSumRelu:
      return x < 0 ? 0 : x;  // NaN stays NaN.
    case kSumGelu:
      return (Sum)0.5 * x * erfc(x * (Sum)-0.70710678118654752440);
    case kSumTanh:
      return tanh(x);
    case kSumSigmoid:
      return (Sum)1 / ((Sum)1 + exp(-x));
    default:
      return x;
  }
}

__device__ void finish(const PartialSums& task, long long row, long long column, Sum sum) {
  Element* const to = (Element*)task.to + column * task.to_leading + row;
  // As in BLAS, nothing of a product that alpha leaves out is seen, not even NaN.
  Sum value = task.alpha == 0 ? 0 : (Sum)task.alpha * sum;
  if (task.reads_to) value += (Sum)task.beta * widened(*to);
  if (task.bias) {
    value += widened(((const Element*)task.bias)[task.is_bias_of_columns ? column : row]);
  }
  *to = rounded(activated(task.activation, value));
}

extern "C" __global__ void __launch_bounds__(256)
    add_parts(const __grid_constant__ PartialSums task) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= task.rows) return;
  long long column = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  for (; column < task.columns; column += (long long)gridDim.y * blockDim.y) {
    const Sum* const from = (const Sum*)task.from + column * task.from_leading + row;
    Sum sum = 0;
#pragma unroll 8
    for (long long part = 0; part < task.parts; ++part) sum += from[part * task.from_part];
    finish(task, row, column, sum);
  }
}
#endif

}  // namespace attune::cuda
