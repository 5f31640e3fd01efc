// Arguments of the kernels of tensor_layout.cu, for the kernels and for the code that launches
// them: this text is part of both programs. Distances and counts are in elements.
#pragma once

namespace attune::cuda {

// Matrices of rows that are contiguous in `from`. In `to` the rows are contiguous, too, or the
// columns are. The excess of `to` is filled with zeros; parts of `from` beyond `to` are left out.
struct Relayout {
  const void* from;
  void* to;
  long long from_matrix, from_row;
  long long to_matrix;
  long long to_line;  // From row to row, or if transposed from column to column.
  long long matrices, rows, columns;
  long long to_matrices, to_rows, to_columns;
  int is_transposed;
  // Every line begins at a multiple of two elements, so that two of them move at once.
  int is_from_even, is_to_even;
};

// Like a Relayout, but `to` has room for three of each run of matrices, one after the other. They
// hold the parts that add up to the elements: twice the high parts, and once the low ones.
struct Split {
  Relayout copy;  // Distances between matrices are those within a run.
  long long run;  // Matrices of a run.
  long long from_run, to_run;
  long long to_part;  // From one of the three to the next.
  int low_part;       // Which of them has the low parts.
};

// The windows of a large image: position q of the small image and tap f of the filter meet the
// large one at q * stride - pad + f * dilation. Depth, height, width.
struct Windows {
  int large[3];
  int small[3];
  int filter[3];
  int stride[3];
  int pad[3];
  int dilation[3];
  int channels;
  // Value r of a window is tap r % taps of channel r / taps; or else channel r % channels of tap
  // r / channels.
  int is_tap_inner;
};

// Windows as columns of matrices. Columns hold the values of one pixel of the small image, or else
// one value of all pixels; they begin at multiples of 16 bytes and end in zeros.
struct Unfold {
  const void* from;
  void* to;
  Windows windows;
  long long from_image, from_channel;
  long long from_pixel[3];
  long long to_matrix;
  long long to_leading;
  long long from_matrix;  // From the first image of a matrix to that of the next.
  long long matrices;
  unsigned pixels;  // Per matrix: those of its images, one image after the other.
  unsigned values;  // Per window.
  int is_values_inner;
};

// The large image out of such matrices: each element is the sum of the values at its position, in
// the order of the taps, plus the bias of its channel if there is one.
struct Fold {
  const void* from;  // Sums, not yet rounded to elements.
  void* to;
  const void* bias;  // Null: none.
  Windows windows;
  long long from_image, from_pixel, from_value;
  long long images;
  unsigned elements;  // Per image, which is packed.
  int is_channels_last;
};

// Images that a thread folds together.
constexpr int kImagesAtOnce = 4;

enum SumActivation { kSumPlain, kSumRelu, kSumGelu, kSumTanh, kSumSigmoid };

// Sums of `parts` matrices, element by element and one part after the other. The result is
// activation(alpha * sum + beta * old value + bias), rounded once.
struct PartialSums {
  const void* from;  // Sums, not yet rounded to elements.
  void* to;
  long long parts, from_part;
  long long rows, columns;
  long long from_leading, to_leading;
  double alpha = 1;
  double beta = 0;
  const void* bias = nullptr;  // Null: none. One value for each row, or for each column.
  int is_bias_of_columns = 0;
  int reads_to = 0;  // If 0, beta is ignored, and the old values may be anything.
  int activation = kSumPlain;
};

}  // namespace attune::cuda
