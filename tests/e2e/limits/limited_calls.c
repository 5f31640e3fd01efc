// A program that calls attune under limits; steps.h lists the words of its command line.
#include <attune/attune.h>
#include <attune/ops/batch_norm.h>
#include <attune/ops/softmax.h>

#include "tests/e2e/limits/steps.h"
#include "tests/guests/right_results.h"

static attune_runtime* the_runtime;

static int code_is_ok(attune_code code, const char* what) {
  if (code != ATTUNE_OK) printf("%s: %d %s\n", what, (int)code, attune_last_message());
  return code == ATTUNE_OK;
}

// C is m x n of ones, and beta is 1: a product that starts twice is wrong.
static int gemm(int m, int n, int k) {
  attune_gemm problem = {0};
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  int wrong = 0;
  Memory memory = take_memory();
  float* a = bytes_of(&memory, sizeof(float) * (size_t)(m * k));
  float* b = bytes_of(&memory, sizeof(float) * (size_t)(k * n));
  float* c = bytes_of(&memory, sizeof(float) * (size_t)(m * n));
  for (int i = 0; i < m * k; ++i) a[i] = (float)element(i % m, i / m, 1);
  for (int i = 0; i < k * n; ++i) b[i] = (float)element(i % k, i / k, 2);
  for (int i = 0; i < m * n; ++i) c[i] = 1;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  arguments.a = a;
  arguments.b = b;
  arguments.c = c;
  arguments.beta = 1;
  wrong |= !code_is_ok(attune_run_gemm(the_runtime, &problem, &arguments), "gemm");
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      float sum = 1;
      for (int p = 0; p < k; ++p) sum += a[i + p * m] * b[p + j * k];
      wrong |= c[i + j * m] != sum;
    }
  }
  give_back(&memory);
  return wrong;
}

// Forward, 2 images of 16 x 20 x 20, filters of `width` x `width` that keep the size.
static int conv(int filters, int width) {
  enum { kImages = 2, kChannels = 16, kSize = 20, kPlane = kSize * kSize };
  attune_conv problem = {0};
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  int wrong = 0;
  Memory memory = take_memory();
  const int pad = width / 2, taps = width * width;
  float* x = bytes_of(&memory, sizeof(float) * kImages * kChannels * kPlane);
  float* w = bytes_of(&memory, sizeof(float) * (size_t)(filters * kChannels * taps));
  float* y = bytes_of(&memory, sizeof(float) * (size_t)(kImages * filters * kPlane));
  for (int i = 0; i < kImages * kChannels * kPlane; ++i) x[i] = (float)element(i, i / 7, 1);
  for (int i = 0; i < filters * kChannels * taps; ++i) w[i] = (float)element(i, i / 5, 2);
  problem.batch = kImages;
  problem.in_channels = kChannels;
  problem.out_channels = filters;
  problem.in[1] = problem.in[2] = kSize;
  problem.filter[1] = problem.filter[2] = width;
  problem.pad[1] = problem.pad[2] = pad;
  arguments.a = x;
  arguments.b = w;
  arguments.c = y;
  wrong |= !code_is_ok(attune_run_conv(the_runtime, &problem, &arguments), "conv");
  const ConvolutionSizes sizes = {kImages, kChannels, filters, kSize, width};
  wrong |= WrongInConvolution(sizes, x, w, y, 1e-2) >= 0;
  give_back(&memory);
  return wrong;
}

static int softmax(void) {
  enum { kLines = 64, kLength = 300 };
  attune_softmax problem = {0};
  attune_operands operands = ATTUNE_OPERANDS_INIT;
  int wrong = 0;
  Memory memory = take_memory();
  float* x = bytes_of(&memory, sizeof(float) * kLines * kLength);
  float* y = bytes_of(&memory, sizeof(float) * kLines * kLength);
  void* data[] = {x, y};
  for (int i = 0; i < kLines * kLength; ++i) x[i] = (float)element(i, i / 7, 1);
  problem.outer = kLines;
  problem.length = kLength;
  problem.inner = 1;
  operands.data = data;
  operands.count = 2;
  wrong |= !code_is_ok(attune_run_softmax(the_runtime, &problem, &operands), "softmax");
  wrong |= WrongInSoftmax(x, y, kLines, kLength, 1e-4) >= 0;
  give_back(&memory);
  return wrong;
}

// Training, 4 images of 16 x 20 x 20.
static int batch_norm(void) {
  enum {
    kImages = 4,
    kChannels = 16,
    kSize = 20,
    kPlane = kSize * kSize,
    kValues = kImages * kPlane
  };
  const double epsilon = 1e-5;
  attune_batch_norm problem = {0};
  attune_operands operands = ATTUNE_OPERANDS_INIT;
  int wrong = 0;
  Memory memory = take_memory();
  float* x = bytes_of(&memory, sizeof(float) * kChannels * kValues);
  float* y = bytes_of(&memory, sizeof(float) * kChannels * kValues);
  void* data[] = {x, y};
  for (int i = 0; i < kChannels * kValues; ++i) x[i] = (float)element(i, i / 7, 1);
  problem.batch = kImages;
  problem.channels = kChannels;
  problem.height = problem.width = kSize;
  operands.data = data;
  operands.count = 2;
  wrong |= !code_is_ok(attune_run_batch_norm(the_runtime, &problem, epsilon, 0.1, &operands),
                       "batch norm");
  const BatchNormSizes sizes = {kImages, kChannels, kPlane};
  wrong |= WrongInBatchNorm(sizes, x, y, epsilon, 1e-4) >= 0;
  give_back(&memory);
  return wrong;
}

static int begin(void) {
  return !code_is_ok(attune_runtime_create(NULL, &the_runtime), "attune_runtime_create");
}

static int products(void) {
  if (the_runtime == NULL && begin() != 0) return 1;
  return gemm(10, 10, 10) || gemm(200, 200, 200) || gemm(150, 1, 220) || conv(16, 3) ||
         conv(16, 1) || conv(1, 3) || conv(1, 1) || softmax() || batch_norm();
}

static int others(void) { return gemm(230, 230, 230) || gemm(90, 1, 410); }

int main(int count, char** arguments) {
  const int result = do_steps(count - 1, arguments + 1);
  attune_runtime_destroy(the_runtime);
  if (result == 0) puts("destroyed");
  return result;
}
