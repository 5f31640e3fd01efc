// The convolutions of SEER: square images and filters, fp32, NCHW; and the errors of its published
// program.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

namespace attune::seer {

// Letters as in the publication.
struct Layer {
  int64_t n = 1;  // Images.
  int64_t c = 1;  // Input channels.
  int64_t w = 1;  // Width and height of the input.
  int64_t k = 1;  // Output channels.
  int64_t p = 1;  // Width and height of the output.
  int64_t f = 1;  // The filter's.
  int64_t s = 1;  // Stride.
  int64_t pad = 0;

  friend bool operator==(const Layer&, const Layer&) = default;
};

// Distinguishes layers: all but the output, which follows.
using LayerKey = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;
inline LayerKey KeyOf(const Layer& x) { return {x.n, x.c, x.w, x.k, x.f, x.s, x.pad}; }

// floor((w + 2 pad - f) / s) + 1.
int64_t OutputWidth(const Layer& layer);

// cuDNN's forward algorithms go by their numbers: the implicit product, the one with precomputed
// indices, the explicit product, direct, FFT, FFT in tiles, Winograd, and Winograd in three steps.
inline constexpr int kAlgorithms = 8;

// The README has Winograd at 4 and 5 and the FFTs at 6 and 7.
enum class AlgorithmOrder { kCudnn, kReadme };
// Returns cuDNN's number for the one that `order` calls `number`. REQUIRES: 0 <= number <
// kAlgorithms.
int CudnnNumber(int number, AlgorithmOrder order);

// Corrects or repeats the errors of the published program. docs/models.md has the list.
enum class Rules { kFixed, kAsPublished };

// How a kernel spends its time.
enum class KernelClass : int { kCompute = 0, kDram = 1, kUnderUtilised = 2 };
inline constexpr int kClasses = 3;

}  // namespace attune::seer
