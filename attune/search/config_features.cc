#include "attune/search/config_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

namespace attune {
namespace {

// Parameters with this many values get a feature for each value: with fewer the rank is one
// already.
constexpr size_t kFewestApart = 3;
constexpr size_t kMostApart = 4;
constexpr double kMostByte = 255;
// The distance between neighbouring values of parameters with at most kMostApart values, and of
// others.
constexpr float kJumpOfVariants = 0.5f;
constexpr float kJumpOfSizes = 0.1f;

// The values as numbers; words count by their position, which is the author's order.
std::vector<double> Numbers(const std::vector<ParameterValue>& values) {
  std::vector<double> numbers;
  bool are_numbers = true;
  for (const ParameterValue& value : values) {
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      numbers.push_back(static_cast<double>(*integer));
    } else if (const auto* real = std::get_if<double>(&value)) {
      numbers.push_back(*real);
    } else {
      are_numbers = false;
    }
  }
  if (are_numbers) return numbers;
  numbers.clear();
  for (size_t i = 0; i < values.size(); ++i) numbers.push_back(static_cast<double>(i));
  return numbers;
}

bool AreIntegers(const std::vector<ParameterValue>& values) {
  return std::all_of(values.begin(), values.end(), [](const ParameterValue& value) {
    return std::holds_alternative<int64_t>(value);
  });
}

bool ArePositiveNumbers(const std::vector<ParameterValue>& values) {
  return std::none_of(values.begin(), values.end(), [](const ParameterValue& value) {
    const auto* integer = std::get_if<int64_t>(&value);
    const auto* real = std::get_if<double>(&value);
    return !(integer != nullptr && *integer > 0) && !(real != nullptr && *real > 0);
  });
}

std::vector<double> PowersOfTwo(const std::vector<ParameterValue>& values) {
  std::vector<double> powers;
  for (const ParameterValue& value : values) {
    const auto integer = static_cast<uint64_t>(std::get<int64_t>(value));
    powers.push_back(integer == 0 ? 0 : std::countr_zero(integer));
  }
  return powers;
}

// True if `b` never falls where `a` rises: every cut of `b` is a cut of `a`.
bool RisesWith(const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < a.size(); ++j) {
      if (a[i] < a[j] && b[i] > b[j]) return false;
    }
  }
  return true;
}

}  // namespace

ConfigFeatures::ConfigFeatures(const ConfigDigits& digits) {
  std::vector<size_t> by_radix(digits.size());
  std::iota(by_radix.begin(), by_radix.end(), size_t{0});
  std::stable_sort(by_radix.begin(), by_radix.end(),
                   [&](size_t a, size_t b) { return digits.radix(a) < digits.radix(b); });
  logarithms_.resize(digits.size());
  for (const size_t i : by_radix) AddChoice(digits, i);
  for (size_t i = 0; i < digits.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!logarithms_[i].empty() && !logarithms_[j].empty() && size() < kMostFeatures) {
        AddPair(i, j);
      }
    }
  }
}

void ConfigFeatures::AddChoice(const ConfigDigits& digits, size_t choice) {
  const std::vector<ParameterValue>& values = digits.values(choice);
  const std::vector<double> numbers = Numbers(values);
  if (ArePositiveNumbers(values)) {
    for (const double number : numbers) {
      logarithms_[choice].push_back(static_cast<float>(std::log2(number)));
    }
  }
  AddSingle(choice, numbers);
  if (AreIntegers(values) && values.size() > 2) {
    const std::vector<double> powers = PowersOfTwo(values);
    if (!RisesWith(numbers, powers)) AddSingle(choice, powers);
  }
  if (values.size() < kFewestApart || values.size() > kMostApart) return;
  for (size_t value = 0; value < values.size(); ++value) {
    std::vector<double> is_this(values.size(), 0);
    is_this[value] = 1;
    AddSingle(choice, is_this);
  }
}

void ConfigFeatures::AddSingle(size_t choice, const std::vector<double>& of_digit) {
  if (size() >= kMostFeatures) return;
  std::vector<double> distinct = of_digit;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const double most = static_cast<double>(distinct.size() - 1);
  const double scale = most > kMostByte ? kMostByte / most : 1;
  Single single{choice, {}};
  for (const double value : of_digit) {
    const auto rank = std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin();
    single.of_digit.push_back(static_cast<uint8_t>(static_cast<double>(rank) * scale));
  }
  singles_.push_back(std::move(single));
}

void ConfigFeatures::AddPair(size_t first, size_t second) {
  const auto [low_a, high_a] =
      std::minmax_element(logarithms_[first].begin(), logarithms_[first].end());
  const auto [low_b, high_b] =
      std::minmax_element(logarithms_[second].begin(), logarithms_[second].end());
  const float span = *high_a + *high_b - *low_a - *low_b;
  pairs_.push_back({first, second, *low_a + *low_b, static_cast<float>(kMostByte) / span});
}

void ConfigFeatures::Write(const Digits& digits, std::vector<uint8_t>& features) const {
  features.resize(size());
  uint8_t* next = features.data();
  for (const Single& single : singles_) *next++ = single.of_digit[digits[single.choice]];
  for (const Pair& pair : pairs_) {
    const float sum =
        logarithms_[pair.first][digits[pair.first]] + logarithms_[pair.second][digits[pair.second]];
    *next++ = static_cast<uint8_t>((sum - pair.low) * pair.scale + 0.5f);
  }
}

ConfigLevels::ConfigLevels(const ConfigDigits& digits) {
  for (size_t i = 0; i < digits.size(); ++i) {
    const std::vector<ParameterValue>& values = digits.values(i);
    std::vector<double> numbers = Numbers(values);
    if (ArePositiveNumbers(values)) {
      for (double& number : numbers) number = std::log2(number);
    }
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    const double lowest = *low;
    const double span = *high - lowest;
    std::vector<uint8_t> levels;
    for (const double number : numbers) {
      levels.push_back(static_cast<uint8_t>(std::lround((number - lowest) / span * kMostByte)));
    }
    of_digit_.push_back(std::move(levels));
    jumps_.push_back(values.size() <= kMostApart ? kJumpOfVariants : kJumpOfSizes);
  }
}

void ConfigLevels::Write(const Digits& digits, std::vector<uint8_t>& levels) const {
  levels.resize(size());
  for (size_t i = 0; i < size(); ++i) levels[i] = of_digit_[i][digits[i]];
}

}  // namespace attune
