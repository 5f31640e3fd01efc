/* Checks of results that need no memory of their own, for C programs of tests. Each returns the
 * first element that is off by more than `tolerance`, or -1. */
#pragma once

#include <math.h>

typedef struct ConvolutionSizes {
  int images, channels, filters;
  int size;  /* Side of a square image. */
  int width; /* Side of a filter that keeps the size. */
} ConvolutionSizes;

/* Forward. */
static int WrongInConvolution(ConvolutionSizes sizes, const float* x, const float* w,
                              const float* y, double tolerance) {
  const int channels = sizes.channels, filters = sizes.filters, size = sizes.size;
  const int width = sizes.width, plane = size * size, pad = width / 2, taps = width * width;
  for (int at = 0; at < sizes.images * filters * plane; ++at) {
    const int image = at / (filters * plane), filter = at / plane % filters;
    double sum = 0;
    for (int term = 0; term < channels * taps; ++term) {
      const int row = at % plane / size + term % taps / width - pad;
      const int column = at % size + term % width - pad;
      if (row < 0 || row >= size || column < 0 || column >= size) continue;
      sum += x[(image * channels + term / taps) * plane + row * size + column] *
             w[filter * channels * taps + term];
    }
    if (!(fabs(y[at] - sum) < tolerance)) return at;
  }
  return -1;
}

static int WrongInSoftmax(const float* x, const float* y, int lines, int length, double tolerance) {
  for (int line = 0; line < lines; ++line) {
    double sum = 0;
    for (int i = 0; i < length; ++i) sum += exp(x[line * length + i]);
    for (int at = line * length; at < (line + 1) * length; ++at) {
      if (!(fabs(y[at] - exp(x[at]) / sum) < tolerance)) return at;
    }
  }
  return -1;
}

typedef struct BatchNormSizes {
  int images, channels;
  int plane; /* Elements of a channel of an image. */
} BatchNormSizes;

/* Training without gamma and beta. */
static int WrongInBatchNorm(BatchNormSizes sizes, const float* x, const float* y, double epsilon,
                            double tolerance) {
  const int channels = sizes.channels, plane = sizes.plane, values = sizes.images * plane;
  for (int channel = 0; channel < channels; ++channel) {
    double sum = 0, squares = 0;
    for (int i = 0; i < values; ++i) {
      const double value = x[(i / plane * channels + channel) * plane + i % plane];
      sum += value;
      squares += value * value;
    }
    const double mean = sum / values;
    const double deviation = sqrt(squares / values - mean * mean + epsilon);
    for (int i = 0; i < values; ++i) {
      const int at = (i / plane * channels + channel) * plane + i % plane;
      if (!(fabs(y[at] - (x[at] - mean) / deviation) < tolerance)) return at;
    }
  }
  return -1;
}
