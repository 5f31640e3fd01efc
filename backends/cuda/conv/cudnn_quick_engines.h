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

#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/layer_memory.h"
#include "backends/cuda/cudnn/cudnn_knobs.h"

namespace attune::cuda {

// Whether convolutions like it are of the kinds whose engines were measured. Those that were refuse
// all others: groups, depth, exact numbers with channels last.
bool IsMeasuredKind(const Conv& conv);

// What the library is asked about in the place of `conv`, so that a process chooses what any other
// chooses, whichever picture came first. Of the measured kinds a convolution such as networks have,
// with the types, direction and layouts of `conv`; of others, where what is fast and what refuses
// is the layer's, that layer with a picture such as networks have.
Conv TypicalOf(const Conv& conv);

// Of a version whose engines were measured, and of kinds that were, those that are made quickly and
// compute quickly. Else what the library recommends for the typical convolution: it numbers and
// prefers its engines anew at will, and what it recommends is what it vouches for. An engine
// refuses by channels, filter, strides and types, which are the layer's, and to be refused costs
// some 50 us: whichever took a picture of a layer is asked first for the next one. Thread-safe.
class CudnnQuickEngines {
 public:
  // More would only be asked for where all of these refuse.
  static constexpr size_t kMostLearned = 4;
  // Typical convolutions of which an answer is remembered; of further ones it is asked for again.
  static constexpr size_t kMostAnswers = 512;

  // What the library recommends for a convolution: some milliseconds.
  using Recommend = std::function<std::vector<CudnnEngineChoice>(const Conv& typical)>;

  // Best first, for cuDNN `version`; none for gradients of weights, because some engines round
  // parts of long sums to narrow types and do not say so. `recommend` is asked once for a typical
  // convolution.
  std::vector<CudnnEngineChoice> For(const Conv& conv, std::string_view version,
                                     const Recommend& recommend) const;

  // `choice`, out of what For() gave, computes `conv`. Nothing is learned of the one that is asked
  // first anyway.
  void NoteTaken(const Conv& conv, const std::vector<CudnnEngineChoice>& choices,
                 const CudnnEngineChoice& choice) const;

 private:
  std::vector<CudnnEngineChoice> Listed(const Conv& conv, std::string_view version,
                                        const Recommend& recommend) const;

  mutable LayerMemory<CudnnEngineChoice> taken_;
  mutable std::mutex mutex_;  // Guards what is below.
  // By typical convolution.
  mutable std::map<std::string, std::vector<CudnnEngineChoice>> learned_;
};

}  // namespace attune::cuda
