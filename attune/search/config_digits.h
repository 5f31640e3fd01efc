// A config as positions in the value lists of its parameters, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attune/space/config_space.h"

namespace attune {

// For each parameter that has a choice, in the order of the space, the position of its value.
using Digits = std::vector<uint32_t>;

// Keeps one config whose values it changes, because making one anew costs more than looking it up.
// Not thread-safe.
class ConfigDigits {
 public:
  explicit ConfigDigits(const ConfigSpace& space);
  ConfigDigits(const ConfigDigits&) = delete;
  ConfigDigits& operator=(const ConfigDigits&) = delete;

  // Number of parameters with a choice.
  size_t size() const { return choices_.size(); }
  // Number of values of the `i`-th of them.
  uint32_t radix(size_t i) const { return static_cast<uint32_t>(choices_[i].values->size()); }
  const std::vector<ParameterValue>& values(size_t i) const { return *choices_[i].values; }

  Digits At(uint64_t index) const;
  // Nothing if the combination is not valid. REQUIRES: size() digits below their radix.
  std::optional<uint64_t> IndexOf(const Digits& digits);

 private:
  struct Choice {
    const std::vector<ParameterValue>* values = nullptr;  // Of `space_`.
    size_t place = 0;                                     // Among the sorted names of a config.
    ParameterValue* current = nullptr;                    // In `config_`.
    uint32_t digit = 0;                                   // Of `current`.
  };

  const ConfigSpace space_;
  Config config_;
  std::vector<Choice> choices_;
  std::vector<size_t> choice_of_place_;  // Behind the last one: a parameter without a choice.
};

}  // namespace attune
