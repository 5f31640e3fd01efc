/* Checked convolutions, a softmax and a batch normalisation on the run time of a guest program. The
 * memory comes from the allocator of the program. */
#pragma once

#include <attune/attune.h>
#include <attune/ops/batch_norm.h>
#include <attune/ops/softmax.h>
#include <stdio.h>
#include <stdlib.h>

#include "right_results.h"

static const double kTolerance = 1e-3;

static float* NewTensor(int count) {
  float* tensor = calloc((size_t)count, sizeof(float));
  if (tensor == NULL) exit(5);
  for (int i = 0; i < count; ++i) tensor[i] = (float)(i * 7 % 5 - 2);
  return tensor;
}

static void ExpectOk(attune_code code, const char* what) {
  if (code == ATTUNE_OK) return;
  fprintf(stderr, "no %s: %s\n", what, attune_last_message());
  exit(3);
}

static void ExpectRight(int wrong, const float* y, const char* what) {
  if (wrong < 0) return;
  fprintf(stderr, "%s: element %d is wrong: %g\n", what, wrong, y[wrong]);
  exit(4);
}

/* Forward, 2 images of 8 x 12 x 12, 8 filters of width x width that keep the size. */
static void CheckConvolution(attune_runtime* runtime, int width) {
  enum { kImages = 2, kChannels = 8, kFilters = 8, kSize = 12, kPlane = kSize * kSize };
  const int pad = width / 2, taps = width * width;
  float* x = NewTensor(kImages * kChannels * kPlane);
  float* w = NewTensor(kFilters * kChannels * taps);
  float* y = NewTensor(kImages * kFilters * kPlane);
  const attune_conv conv = {.batch = kImages,
                            .in_channels = kChannels,
                            .out_channels = kFilters,
                            .in = {0, kSize, kSize},
                            .filter = {0, width, width},
                            .pad = {0, pad, pad}};
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = x;
  arguments.b = w;
  arguments.c = y;
  const ConvolutionSizes sizes = {kImages, kChannels, kFilters, kSize, width};
  ExpectOk(attune_run_conv(runtime, &conv, &arguments), "convolution");
  ExpectRight(WrongInConvolution(sizes, x, w, y, kTolerance), y, "convolution");
  free(x);
  free(w);
  free(y);
}

static void CheckSoftmax(attune_runtime* runtime) {
  enum { kLines = 6, kLength = 50 };
  float* x = NewTensor(kLines * kLength);
  float* y = NewTensor(kLines * kLength);
  void* data[] = {x, y};
  const attune_softmax softmax = {.outer = kLines, .length = kLength, .inner = 1};
  attune_operands operands = ATTUNE_OPERANDS_INIT;
  operands.data = data;
  operands.count = 2;
  ExpectOk(attune_run_softmax(runtime, &softmax, &operands), "softmax");
  ExpectRight(WrongInSoftmax(x, y, kLines, kLength, kTolerance), y, "softmax");
  free(x);
  free(y);
}

/* Training, 2 images of 4 x 6 x 6. */
static void CheckBatchNorm(attune_runtime* runtime) {
  enum {
    kImages = 2,
    kChannels = 4,
    kSize = 6,
    kPlane = kSize * kSize,
    kValues = kImages * kPlane
  };
  const double epsilon = 1e-5;
  float* x = NewTensor(kChannels * kValues);
  float* y = NewTensor(kChannels * kValues);
  void* data[] = {x, y};
  const attune_batch_norm norm = {
      .batch = kImages, .channels = kChannels, .height = kSize, .width = kSize};
  attune_operands operands = ATTUNE_OPERANDS_INIT;
  operands.data = data;
  operands.count = 2;
  const BatchNormSizes sizes = {kImages, kChannels, kPlane};
  ExpectOk(attune_run_batch_norm(runtime, &norm, epsilon, 0.1, &operands), "batch norm");
  ExpectRight(WrongInBatchNorm(sizes, x, y, epsilon, kTolerance), y, "batch norm");
  free(x);
  free(y);
}
