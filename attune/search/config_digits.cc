#include "attune/search/config_digits.h"

#include <cassert>

namespace attune {

ConfigDigits::ConfigDigits(const ConfigSpace& space)
    : space_(space), positions_(space.parameters().size(), 0) {
  for (size_t i = 0; i < positions_.size(); ++i) {
    if (space_.parameters()[i].values.size() > 1) choices_.push_back(i);
  }
}

Digits ConfigDigits::At(uint64_t index) const {
  const std::vector<uint32_t> positions = space_.Positions(index, 1);
  Digits digits;
  digits.reserve(choices_.size());
  for (const size_t parameter : choices_) digits.push_back(positions[parameter]);
  return digits;
}

std::optional<uint64_t> ConfigDigits::IndexOf(const Digits& digits) {
  assert(digits.size() == choices_.size());
  for (size_t i = 0; i < digits.size(); ++i) positions_[choices_[i]] = digits[i];
  return space_.IndexOfPositions(positions_);
}

}  // namespace attune
