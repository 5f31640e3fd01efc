// Which of cuDNN's engines serve a convolution of a shape that nobody has seen, without asking the
// library for recommendations, which takes it 2 to 5 ms for every shape anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/conv.h"
#include "backends/cuda/cudnn_knobs.h"

namespace attune::cuda {

struct CudnnEngineChoice {
  int64_t index = 0;
  KnobValues knobs = {};

  friend bool operator==(const CudnnEngineChoice&, const CudnnEngineChoice&) = default;
};

// A convolution such as networks have, of the same kind as `conv`: types, direction, layouts, and
// whether it has groups or is depthwise.
Conv TypicalOf(const Conv& conv);

// Of a version whose engines were measured, those that are made quickly and compute quickly. Of any
// other version, and of kinds that were not measured (groups, depth), what the library recommends
// for the typical convolution of the kind: it numbers and prefers its engines anew at will, and
// what it recommends is what it vouches for. So a process chooses what any other chooses. An engine
// refuses by channels, filter, strides and types, which are the layer's, and to be refused costs
// some 50 us: whichever took a picture of a layer is asked first for the next one. Thread-safe.
class CudnnQuickEngines {
 public:
  // More would only be asked for where all of these refuse.
  static constexpr size_t kMostLearned = 4;
  // Layers of which something is remembered; of further ones every engine is asked in its order.
  static constexpr size_t kMostLayers = 256;

  // What the library recommends for a convolution: some milliseconds.
  using Recommend = std::function<std::vector<CudnnEngineChoice>(const Conv& typical)>;

  // Best first, for cuDNN `version`; none for gradients of weights, because some engines round
  // parts of long sums to narrow types and do not say so. `recommend` is asked once for a kind.
  std::vector<CudnnEngineChoice> For(const Conv& conv, std::string_view version,
                                     const Recommend& recommend) const;

  // `choice`, out of what For() gave, computes `conv`. Nothing is learned of the one that is asked
  // first anyway.
  void NoteTaken(const Conv& conv, const std::vector<CudnnEngineChoice>& choices,
                 const CudnnEngineChoice& choice) const;

 private:
  std::vector<CudnnEngineChoice> Listed(const Conv& conv, std::string_view version,
                                        const Recommend& recommend) const;

  struct Taken {
    Conv layer;
    CudnnEngineChoice choice;
  };

  mutable std::mutex mutex_;  // Guards everything below.
  // As many kinds as there are.
  mutable std::map<std::string, std::vector<CudnnEngineChoice>> learned_;
  mutable std::vector<Taken> taken_;
};

}  // namespace attune::cuda
