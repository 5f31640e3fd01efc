// A config as positions in the value lists of its parameters, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attune/space/config_space.h"

namespace attune {

// For each parameter that has a choice, in the order of the space, the position of its value.
using Digits = std::vector<uint32_t>;

// Not thread-safe.
class ConfigDigits {
 public:
  explicit ConfigDigits(const ConfigSpace& space);

  // Number of parameters with a choice.
  size_t size() const { return choices_.size(); }
  // Number of values of the `i`-th of them.
  uint32_t radix(size_t i) const { return static_cast<uint32_t>(values(i).size()); }
  const std::vector<ParameterValue>& values(size_t i) const {
    return space_.parameters()[choices_[i]].values;
  }

  Digits At(uint64_t index) const;
  // Nothing if the combination is not valid. REQUIRES: size() digits below their radix.
  std::optional<uint64_t> IndexOf(const Digits& digits);

 private:
  const ConfigSpace space_;
  std::vector<size_t> choices_;      // Parameters with a choice.
  std::vector<uint32_t> positions_;  // Working memory: of all parameters.
};

}  // namespace attune
