// Chooses cuDNN engines for convolutions of new shapes without asking the library for
// recommendations, which takes 2 to 5 ms for each new shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/layer_memory.h"
#include "backends/cuda/cudnn/cudnn_knobs.h"

namespace attune::cuda {

// True if engines were measured for the kind of `conv`. The measured engines refuse all other
// kinds: groups, depth, exact numbers with channels last.
bool IsMeasuredKind(const Conv& conv);

// The convolution to ask the library about in the place of `conv`, so that every process makes the
// same choice in any order of images. For measured kinds it is a convolution as in networks, with
// the types, direction and layouts of `conv`. For other kinds speed and refusals depend on the
// layer, so it is that layer with an image as in networks.
Conv TypicalOf(const Conv& conv);

// For measured versions and kinds, the engines that are made quickly and compute quickly. Otherwise
// the library's recommendations for the typical convolution: each version may number and prefer its
// engines anew, and the library vouches for its recommendations. An engine refuses by channels,
// filter, strides and types, all properties of the layer, and a refusal costs some 50 us. So the
// engine that took one image of a layer is first for the next image. Thread-safe.
class CudnnQuickEngines {
 public:
  // Further answers would only be used where all of these refuse.
  static constexpr size_t kMostLearned = 4;
  // Typical convolutions with a cached answer; for others the library is asked again.
  static constexpr size_t kMostAnswers = 512;

  // The library's recommendations for a convolution: some milliseconds.
  using Recommend = std::function<std::vector<CudnnEngineChoice>(const Conv& typical)>;

  // Best first, for cuDNN `version`; none for gradients of weights, because some engines round
  // parts of long sums to narrow types without reporting it. Calls `recommend` once for a typical
  // convolution.
  std::vector<CudnnEngineChoice> For(const Conv& conv, std::string_view version,
                                     const Recommend& recommend) const;

  // `choice`, out of the result of For(), computes `conv`. Learns nothing if it is already the
  // first.
  void NoteTaken(const Conv& conv, const std::vector<CudnnEngineChoice>& choices,
                 const CudnnEngineChoice& choice) const;

 private:
  std::vector<CudnnEngineChoice> Listed(const Conv& conv, std::string_view version,
                                        const Recommend& recommend) const;

  mutable LayerMemory<CudnnEngineChoice> taken_;
  mutable std::mutex mutex_;  // Guards the members below.
  // Keyed by typical convolution.
  mutable std::map<std::string, std::vector<CudnnEngineChoice>> learned_;
};

}  // namespace attune::cuda
