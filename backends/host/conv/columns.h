// The matrix of a convolution's inputs: one column for each output, one row for each weight of a
// filter.
#pragma once

#include <cstdint>

#include "backends/host/conv/conv_form.h"

namespace attune::host {

// Element (q, p) of the matrix stands for weight q = (channel, tap) of one group and output pixel
// p.
struct ColumnsForm {
  ConvForm conv;
  bool pixels_adjacent =
      true;  // Pixels of one row of the matrix lie side by side; else weights of a column do.
  bool taps_fastest =
      true;  // q = channel * taps + tap, as in K C R S weights; else tap * channels + channel.

  int64_t depth() const { return conv.in_channels * conv.taps(); }
};

// Rows of outputs [first, first + count) of one image, counted over depth and height, for a range
// of channels of the group. `pixels` is the number of columns that the whole matrix has.
struct ColumnsPart {
  int64_t first_row = 0, rows = 0;
  int64_t first_channel = 0, channels = 0;
  int64_t pixels = 0;
};

// Copies inputs into the matrix; padding becomes zero. `image` is the first element of the image
// and group, `columns` the element of the matrix for weight 0 and the first pixel of the part. T is
// float, double or a 16-bit pattern.
template <class T>
void GatherColumns(const ColumnsForm& form, const ColumnsPart& part, const T* image, T* columns);

// Adds the matrix back to where its elements came from; T is float or double.
template <class T>
void ScatterColumns(const ColumnsForm& form, const ColumnsPart& part, const T* columns, T* image);

}  // namespace attune::host
