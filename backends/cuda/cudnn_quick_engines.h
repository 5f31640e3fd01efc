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
// other, what the library recommends for the typical convolution of the kind: it numbers and
// prefers its engines anew at will, and what it recommends is what it vouches for. So a process
// chooses what any other chooses. Thread-safe.
class CudnnQuickEngines {
 public:
  // More would only be asked for where all of these refuse.
  static constexpr size_t kMostLearned = 4;

  // What the library recommends for a convolution: some milliseconds.
  using Recommend = std::function<std::vector<CudnnEngineChoice>(const Conv& typical)>;

  // Best first, for cuDNN `version`; none for gradients of weights, because some engines round
  // parts of long sums to narrow types and do not say so. `recommend` is asked once for a kind.
  std::vector<CudnnEngineChoice> For(const Conv& conv, std::string_view version,
                                     const Recommend& recommend) const;

 private:
  mutable std::mutex mutex_;  // Guards learned_, which has as many kinds as there are.
  mutable std::map<std::string, std::vector<CudnnEngineChoice>> learned_;
};

}  // namespace attune::cuda
