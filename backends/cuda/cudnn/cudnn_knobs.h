// Knobs of cuDNN's engines as values: the range of each, the listed combinations, and their text.
// Needs neither library nor device.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune::cuda {

// Type of knob -> value; those that are not named stay as they come.
using KnobValues = std::map<int64_t, int64_t>;

// An engine by its global index, and the knobs that are set on it.
struct CudnnEngineChoice {
  int64_t index = 0;
  KnobValues knobs = {};

  friend bool operator==(const CudnnEngineChoice&, const CudnnEngineChoice&) = default;
};

// "k2:1.k5:0", or "none": types and values in one parameter, because every engine has other knobs.
std::string TextOf(const KnobValues& knobs);
// kInvalidArgument for texts that TextOf does not write, so that no combination has two names.
Result<KnobValues> ParseKnobs(std::string_view text);

// The range that an engine reports for a knob: least, least + stride, and so on up to `most`.
struct KnobRange {
  int64_t type = 0;
  int64_t least = 0;
  int64_t most = 0;
  int64_t stride = 1;

  friend bool operator==(const KnobRange&, const KnobRange&) = default;
};

// The number of values; 0 for an invalid range.
uint64_t CountOf(const KnobRange& range);
// REQUIRES: index < CountOf(range).
int64_t ValueAt(const KnobRange& range, uint64_t index);

// At most `most` values, ascending: all, or `most` evenly spread ones with both ends. REQUIRES:
// most > 0.
std::vector<int64_t> SpreadValues(const KnobRange& range, uint64_t most);

// Maximum of listed combinations per engine.
inline constexpr size_t kMostVariants = 128;
// Limit of variants with one knob changed, where not all combinations are listed.
inline constexpr size_t kMostSingleChanges = 96;

// The combinations worth trying, without repetition, the likely ones first: all defaults, then one
// knob changed, then several. Few combinations are listed whole. Otherwise every single value is
// listed as long as all knobs together have at most kMostSingleChanges, else some spread over each
// range. The rest is drawn at random from all combinations, by `seed`, so that some problem tries
// any value and any combination.
std::vector<KnobValues> VariantsOf(std::span<const KnobRange> knobs, uint64_t seed);

}  // namespace attune::cuda
