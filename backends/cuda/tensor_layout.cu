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
  return task.is_values_inner ? place_of_value(task, (unsigned)at) : place_of_pixel(task, (unsigned)at);
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
// Along one axis, the taps at which a position of the large image meets one of the small image, and
// where: every `tap_step`-th tap from the first one on, each `small_step` before the last. Found
// once for all images, because a division takes longer than a load.
struct Meetings {
  int first_tap, tap_step;
  int first_small, small_step;
};

__device__ int greatest_common_divisor(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

__device__ Meetings meetings_of(const Windows& windows, int axis, int large) {
  const int stride = windows.stride[axis];
  const int dilation = windows.dilation[axis];
  Meetings meetings;
  meetings.tap_step = stride == 1 ? 1 : stride / greatest_common_divisor(stride, dilation);
  meetings.small_step = meetings.tap_step * dilation / stride;
  const int scaled = large + windows.pad[axis];
  meetings.first_tap = windows.filter[axis];  // None.
  meetings.first_small = 0;
  for (int tap = 0; tap < meetings.tap_step; ++tap) {
    if ((scaled - tap * dilation) % stride != 0) continue;
    meetings.first_tap = tap;
    meetings.first_small = (scaled - tap * dilation) / stride;
    break;
  }
  return meetings;
}

// The sum of what lies on one position, one value for each tap that meets it. `values` are those of
// its channel.
__device__ Sum sum_of_taps(const Fold& task, const Sum* values, long long tap_step,
                           const Meetings meetings[3]) {
  const Windows& windows = task.windows;
  Sum sum = 0;
  int depth = meetings[0].first_small;
  for (int d = meetings[0].first_tap; d < windows.filter[0] && depth >= 0;
       d += meetings[0].tap_step, depth -= meetings[0].small_step) {
    if (depth >= windows.small[0]) continue;
    int height = meetings[1].first_small;
    for (int h = meetings[1].first_tap; h < windows.filter[1] && height >= 0;
         h += meetings[1].tap_step, height -= meetings[1].small_step) {
      if (height >= windows.small[1]) continue;
      const long long row = ((long long)depth * windows.small[1] + height) * windows.small[2];
      const long long taps = (long long)(d * windows.filter[1] + h) * windows.filter[2];
      int width = meetings[2].first_small;
      for (int w = meetings[2].first_tap; w < windows.filter[2] && width >= 0;
           w += meetings[2].tap_step, width -= meetings[2].small_step) {
        if (width >= windows.small[2]) continue;
        sum += values[(taps + w) * tap_step + (row + width) * task.from_pixel];
      }
    }
  }
  return sum;
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
  Meetings meetings[3];
  for (int i = 2; i >= 0; --i) {
    meetings[i] = meetings_of(windows, i, rest % windows.large[i]);
    rest /= windows.large[i];
  }
  if (!task.is_channels_last) channel = rest;
  const int taps = windows.filter[0] * windows.filter[1] * windows.filter[2];
  const long long tap_step = windows.is_tap_inner ? task.from_value : task.from_value * windows.channels;
  const Sum* const values = (const Sum*)task.from +
                            channel * (windows.is_tap_inner ? task.from_value * taps : task.from_value);
  for (long long image = blockIdx.y; image < task.images; image += gridDim.y) {
    Sum sum = sum_of_taps(task, values + image * task.from_image, tap_step, meetings);
    if (task.bias) sum += widened(((const Element*)task.bias)[channel]);
    ((Element*)task.to)[image * task.elements + element] = rounded(sum);
  }
}

__device__ Sum activated(int activation, Sum x) {
  switch (activation) {
    case kSumRelu:
      return x > 0 ? x : 0;
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
