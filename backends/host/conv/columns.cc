#include "backends/host/conv/columns.h"

#include <algorithm>
#include <cstring>

namespace attune::host {
namespace {

// One filter element at one row of outputs: which inputs it meets.
struct RowOfTap {
  bool inside = false;         // The input row exists.
  int64_t offset = 0;          // To input column 0 of channel 0, in elements.
  int64_t first = 0;           // Input column of output column 0, may be negative.
  int64_t begin = 0, end = 0;  // Output columns whose input column exists.
};

RowOfTap Locate(const ConvForm& conv, int64_t row, int64_t tap) {
  const Spatial& filter = conv.w.extents;
  const Spatial at = {tap / (filter[1] * filter[2]), tap / filter[2] % filter[1], tap % filter[2]};
  const int64_t d =
      row / conv.y.extents[1] * conv.stride[0] + at[0] * conv.dilation[0] - conv.pad[0];
  const int64_t h =
      row % conv.y.extents[1] * conv.stride[1] + at[1] * conv.dilation[1] - conv.pad[1];
  RowOfTap found;
  found.inside = d >= 0 && d < conv.x.extents[0] && h >= 0 && h < conv.x.extents[1];
  found.offset = d * conv.x.strides[0] + h * conv.x.strides[1];
  found.first = at[2] * conv.dilation[2] - conv.pad[2];
  const int64_t stride = conv.stride[2];
  const int64_t columns = conv.y.extents[2];
  if (!found.inside) return found;
  found.begin = found.first >= 0 ? 0 : std::min(columns, (-found.first + stride - 1) / stride);
  const int64_t room = conv.x.extents[2] - 1 - found.first;
  found.end = room < 0 ? found.begin : std::clamp(room / stride + 1, found.begin, columns);
  return found;
}

int64_t WeightIndex(const ColumnsForm& form, int64_t channel, int64_t tap) {
  return form.taps_fastest ? channel * form.conv.taps() + tap
                           : tap * form.conv.in_channels + channel;
}

// Calls body(channel, tap, row, located row) for every row of pixels of the part.
template <class Body>
void ForEachPixelRow(const ColumnsForm& form, const ColumnsPart& part, const Body& body) {
  const int64_t taps = form.conv.taps();
  for (int64_t c = part.first_channel; c < part.first_channel + part.channels; ++c) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t r = 0; r < part.rows; ++r) {
        body(c, tap, r, Locate(form.conv, part.first_row + r, tap));
      }
    }
  }
}

template <class T>
void GatherPixelRow(const ConvForm& conv, const RowOfTap& row, const T* channel, T* to) {
  const int64_t columns = conv.y.extents[2];
  const int64_t step = conv.stride[2] * conv.x.strides[2];
  std::fill(to, to + row.begin, T{});
  std::fill(to + row.end, to + columns, T{});
  if (row.begin == row.end) return;
  const T* from = channel + row.offset + row.first * conv.x.strides[2] + row.begin * step;
  if (step == 1) {
    std::memcpy(to + row.begin, from, static_cast<size_t>(row.end - row.begin) * sizeof(T));
    return;
  }
  for (int64_t w = row.begin; w < row.end; ++w, from += step) to[w] = *from;
}

// Calls body(tap, whether the input exists, its offset, pixel) for every pixel and tap of the part.
template <class Body>
void ForEachPixelTap(const ColumnsForm& form, const ColumnsPart& part, const Body& body) {
  const ConvForm& conv = form.conv;
  const int64_t columns = conv.y.extents[2];
  for (int64_t r = 0; r < part.rows; ++r) {
    for (int64_t tap = 0; tap < conv.taps(); ++tap) {
      const RowOfTap row = Locate(conv, part.first_row + r, tap);
      for (int64_t w = 0; w < columns; ++w) {
        const bool exists = row.inside && w >= row.begin && w < row.end;
        const int64_t offset = row.offset + (w * conv.stride[2] + row.first) * conv.x.strides[2];
        body(tap, exists, offset, r * columns + w);
      }
    }
  }
}

}  // namespace

template <class T>
void GatherColumns(const ColumnsForm& form, const ColumnsPart& part, const T* image, T* columns) {
  const ConvForm& conv = form.conv;
  const int64_t width = conv.y.extents[2];
  if (form.pixels_adjacent) {
    ForEachPixelRow(form, part, [&](int64_t c, int64_t tap, int64_t r, const RowOfTap& row) {
      GatherPixelRow(conv, row, image + c * conv.x.channel_stride,
                     columns + WeightIndex(form, c, tap) * part.pixels + r * width);
    });
    return;
  }
  const int64_t step = form.taps_fastest ? conv.taps() : 1;
  const bool adjacent = step == 1 && conv.x.channel_stride == 1;
  ForEachPixelTap(form, part, [&](int64_t tap, bool exists, int64_t offset, int64_t pixel) {
    T* to = columns + pixel * form.depth() + WeightIndex(form, part.first_channel, tap);
    const T* from = image + part.first_channel * conv.x.channel_stride + offset;
    if (exists && adjacent) {
      std::memcpy(to, from, static_cast<size_t>(part.channels) * sizeof(T));
      return;
    }
    for (int64_t c = 0; c < part.channels; ++c, to += step) {
      *to = exists ? from[c * conv.x.channel_stride] : T{};
    }
  });
}

template <class T>
void ScatterColumns(const ColumnsForm& form, const ColumnsPart& part, const T* columns, T* image) {
  const ConvForm& conv = form.conv;
  const int64_t width = conv.y.extents[2];
  if (form.pixels_adjacent) {
    const int64_t step = conv.stride[2] * conv.x.strides[2];
    ForEachPixelRow(form, part, [&](int64_t c, int64_t tap, int64_t r, const RowOfTap& row) {
      const T* from = columns + WeightIndex(form, c, tap) * part.pixels + r * width;
      T* to = image + c * conv.x.channel_stride + row.offset + row.first * conv.x.strides[2];
      for (int64_t w = row.begin; w < row.end; ++w) to[w * step] += from[w];
    });
    return;
  }
  const int64_t step = form.taps_fastest ? conv.taps() : 1;
  ForEachPixelTap(form, part, [&](int64_t tap, bool exists, int64_t offset, int64_t pixel) {
    if (!exists) return;
    const T* from = columns + pixel * form.depth() + WeightIndex(form, part.first_channel, tap);
    T* to = image + part.first_channel * conv.x.channel_stride + offset;
    for (int64_t c = 0; c < part.channels; ++c) to[c * conv.x.channel_stride] += from[c * step];
  });
}

template void GatherColumns(const ColumnsForm&, const ColumnsPart&, const float*, float*);
template void GatherColumns(const ColumnsForm&, const ColumnsPart&, const double*, double*);
template void GatherColumns(const ColumnsForm&, const ColumnsPart&, const uint16_t*, uint16_t*);
template void ScatterColumns(const ColumnsForm&, const ColumnsPart&, const float*, float*);
template void ScatterColumns(const ColumnsForm&, const ColumnsPart&, const double*, double*);

}  // namespace attune::host
