#include "attune/search/config_digits.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace attune {

ConfigDigits::ConfigDigits(const ConfigSpace& space) : space_(space), config_(space.At(0)) {
  for (const Parameter& parameter : space_.parameters()) {
    if (parameter.values.size() < 2) continue;
    const auto found = config_.find(parameter.name);
    assert(found != config_.end());
    const auto digit = std::find(parameter.values.begin(), parameter.values.end(), found->second) -
                       parameter.values.begin();
    choices_.push_back({&parameter.values,
                        static_cast<size_t>(std::distance(config_.begin(), found)), &found->second,
                        static_cast<uint32_t>(digit)});
  }
  choice_of_place_.assign(config_.size(), choices_.size());
  for (size_t i = 0; i < choices_.size(); ++i) choice_of_place_[choices_[i].place] = i;
}

Digits ConfigDigits::At(uint64_t index) const {
  Digits digits(choices_.size());
  auto choice = choice_of_place_.begin();
  for (const auto& [name, value] : space_.At(index)) {
    const size_t i = *choice++;
    if (i == choices_.size()) continue;
    const std::vector<ParameterValue>& values = *choices_[i].values;
    digits[i] =
        static_cast<uint32_t>(std::find(values.begin(), values.end(), value) - values.begin());
  }
  return digits;
}

std::optional<uint64_t> ConfigDigits::IndexOf(const Digits& digits) {
  assert(digits.size() == choices_.size());
  for (size_t i = 0; i < digits.size(); ++i) {
    Choice& choice = choices_[i];
    if (choice.digit == digits[i]) continue;
    choice.digit = digits[i];
    *choice.current = (*choice.values)[digits[i]];
  }
  return space_.IndexOf(config_);
}

}  // namespace attune
