#include "backends/cuda/cudnn/cudnn_knobs.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/random.h"

namespace attune::cuda {
namespace {

constexpr std::string_view kNoKnobs = "none";

// Draws may repeat earlier ones: the search ends after so many that were not new.
constexpr size_t kMostDraws = 4 * kMostVariants;

// Reads a sequence of numbers, each behind an expected character.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool is_at_end() const { return at_ == end_; }
  bool Take(char expected) {
    if (is_at_end() || *at_ != expected) return false;
    ++at_;
    return true;
  }
  bool TakeAfter(char before, int64_t& number) {
    if (!Take(before)) return false;
    const auto [next, error] = std::from_chars(at_, end_, number);
    at_ = next;
    return error == std::errc();
  }

 private:
  const char* at_;
  const char* const end_;
};

// A list without repetition, of at most kMostVariants.
class VariantList {
 public:
  void Add(KnobValues variant) {
    if (is_full() || !known_.insert(variant).second) return;
    variants_.push_back(std::move(variant));
  }
  bool is_full() const { return variants_.size() == kMostVariants; }
  std::vector<KnobValues> Take() { return std::move(variants_); }

 private:
  std::vector<KnobValues> variants_;
  std::set<KnobValues> known_;
};

// Ways to choose a value for each knob; kMostVariants where there are more.
uint64_t CombinationsOf(std::span<const KnobRange> knobs) {
  uint64_t combinations = 1;
  for (const KnobRange& knob : knobs) {
    // Both factors are below 2^32.
    combinations = std::min<uint64_t>(
        combinations * std::min<uint64_t>(CountOf(knob), kMostVariants), kMostVariants);
  }
  return combinations;
}

// Changes of one knob, over all knobs; more than kMostSingleChanges where there are more.
uint64_t SingleChangesOf(std::span<const KnobRange> knobs) {
  uint64_t changes = 0;
  for (const KnobRange& knob : knobs) {
    changes += std::min<uint64_t>(CountOf(knob), kMostSingleChanges + 1);
  }
  return changes;
}

void AddSingleChanges(std::span<const KnobRange> knobs, VariantList& variants) {
  const bool are_all_listed = SingleChangesOf(knobs) <= kMostSingleChanges;
  const uint64_t share = kMostSingleChanges / std::max<size_t>(1, knobs.size());
  const uint64_t most = are_all_listed ? kMostSingleChanges : std::max<uint64_t>(1, share);
  for (const KnobRange& knob : knobs) {
    for (const int64_t value : SpreadValues(knob, most)) variants.Add({{knob.type, value}});
  }
}

void AddAllCombinations(std::span<const KnobRange> knobs, VariantList& variants) {
  std::vector<KnobValues> partial = {{}};
  for (const KnobRange& knob : knobs) {
    std::vector<KnobValues> longer;
    for (const KnobValues& chosen : partial) {
      for (uint64_t i = 0; i < CountOf(knob); ++i) {
        longer.push_back(chosen);
        longer.back()[knob.type] = ValueAt(knob, i);
      }
    }
    partial = std::move(longer);
  }
  for (KnobValues& chosen : partial) variants.Add(std::move(chosen));
}

// Each knob as it comes or with any of its values.
void AddDrawn(std::span<const KnobRange> knobs, uint64_t seed, VariantList& variants) {
  Random random(seed);
  for (size_t draw = 0; draw < kMostDraws && !variants.is_full(); ++draw) {
    KnobValues chosen;
    for (const KnobRange& knob : knobs) {
      const uint64_t index = random.Below(CountOf(knob));
      if (random.Below(2) == 0) chosen[knob.type] = ValueAt(knob, index);
    }
    variants.Add(std::move(chosen));
  }
}

}  // namespace

std::string TextOf(const KnobValues& knobs) {
  std::string text;
  for (const auto& [type, value] : knobs) {
    text += fmt::format("{}k{}:{}", text.empty() ? "" : ".", type, value);
  }
  return text.empty() ? std::string(kNoKnobs) : text;
}

Result<KnobValues> ParseKnobs(std::string_view text) {
  KnobValues knobs;
  if (text == kNoKnobs) return knobs;
  NumberReader reader(text);
  bool is_list = true;
  do {
    int64_t type = 0;
    int64_t value = 0;
    is_list = reader.TakeAfter('k', type) && reader.TakeAfter(':', value);
    knobs[type] = value;
  } while (is_list && reader.Take('.'));
  if (!is_list || !reader.is_at_end() || TextOf(knobs) != text) {
    return InvalidArgument(
        fmt::format("'{}' is no list of knobs such as 'k2:1.k5:0', each type once and in ascending "
                    "order. Tune the problem again if a record has it.",
                    text));
  }
  return knobs;
}

uint64_t CountOf(const KnobRange& range) {
  if (range.most < range.least) return 0;
  if (range.most == range.least) return 1;
  if (range.stride <= 0) return 0;
  const uint64_t width = static_cast<uint64_t>(range.most) - static_cast<uint64_t>(range.least);
  const uint64_t steps = width / static_cast<uint64_t>(range.stride);
  return std::min(steps, std::numeric_limits<uint64_t>::max() - 1) + 1;
}

int64_t ValueAt(const KnobRange& range, uint64_t index) {
  const uint64_t offset = index * static_cast<uint64_t>(range.stride);
  return static_cast<int64_t>(static_cast<uint64_t>(range.least) + offset);
}

std::vector<int64_t> SpreadValues(const KnobRange& range, uint64_t most) {
  const uint64_t count = CountOf(range);
  const uint64_t taken = std::min(count, most);
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < taken; ++i) {
    // The product of two counts may need more than 64 bits.
    const auto index =
        static_cast<unsigned __int128>(i) * (count - 1) / std::max<uint64_t>(1, taken - 1);
    values.push_back(ValueAt(range, static_cast<uint64_t>(index)));
  }
  return values;
}

std::vector<KnobValues> VariantsOf(std::span<const KnobRange> knobs, uint64_t seed) {
  std::vector<KnobRange> taken;
  for (const KnobRange& knob : knobs) {
    if (CountOf(knob) > 0) taken.push_back(knob);
  }
  VariantList variants;
  variants.Add({});
  AddSingleChanges(taken, variants);
  // Combinations come after the default of all knobs and after single changes.
  if (1 + SingleChangesOf(taken) + CombinationsOf(taken) <= kMostVariants) {
    AddAllCombinations(taken, variants);
  } else {
    AddDrawn(taken, seed, variants);
  }
  return variants.Take();
}

}  // namespace attune::cuda
