// Knobs of cuDNN's engines as values: which numbers each takes, which of their combinations are
// listed, and how a combination is written. Needs neither library nor device.
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

// At most `most` values, ascending: all, or with both ends as many as that, evenly spread.
// REQUIRES: most > 0.
std::vector<int64_t> SpreadValues(const KnobRange& range, uint64_t most);

// So many combinations of one engine's knobs are listed at most.
inline constexpr size_t kMostVariants = 128;
// Limit of variants with one knob changed, where not all combinations are listed.
inline constexpr size_t kMostSingleChanges = 96;

// Which combinations are worth trying, without repetition, the likely ones first: all as they come,
// then one knob changed, then several. Combinations that are few are listed whole. Of others every
// value is there as long as all knobs together have no more than kMostSingleChanges, else some
// spread over each range; the rest is drawn at random out of everything, by `seed`, so that any
// value and any combination is tried for some problem.
std::vector<KnobValues> VariantsOf(std::span<const KnobRange> knobs, uint64_t seed);

}  // namespace attune::cuda
