// Checks of every store before it keeps a value, so that all of them accept and refuse the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attune/base/status.h"
#include "attune/record/record.h"
#include "attune/record/record_store.h"

namespace attune {

inline constexpr size_t kMaxTagBytes = 80;
inline constexpr size_t kMaxMessageBytes = 16384;

// kInvalidArgument with the value and the rule: 1 to kMaxTagBytes bytes.
Status ValidateTag(std::string_view tag);
// The tag is valid and every weight is at least 1.
Status ValidateTagging(std::string_view tag, std::span<const TaggedProblem> problems);
// The text of the network is no longer than kMaxNetworkBytes, it has a model, and every weight is
// at least 1.
Status ValidateNetwork(const Network& network, std::span<const TaggedProblem> problems);
// The id is 32 lower-case hexadecimal digits and peaks are finite and not negative.
Status ValidateSet(const MeasurementSet& set);
// Times are finite and not negative, samples at most Measurement::kMaxSamples. The error names the
// position in `trials` and the field.
Status ValidateTrials(std::span<const Trial> trials);
// The trials are valid and of the role kQualify; quick times are finite and not negative, and 0 for
// failures.
Status ValidateQualified(std::span<const Qualified> results);

// The trial as stores keep it: a `max_error` that is not a number becomes infinite (no tolerance
// holds it), and a failure message is cut to kMaxMessageBytes with a note of its length.
Trial Storable(Trial trial);

// Conditions as stores keep them: a moment without any value is absent.
SetConditions Storable(SetConditions conditions);

// Number of records by role.
struct RoleCounts {
  int64_t qualify = 0;
  int64_t screen = 0;
  int64_t final = 0;

  void Add(TrialRole role, int64_t count = 1);
  int64_t Of(TrialRole role) const;

  friend bool operator==(const RoleCounts&, const RoleCounts&) = default;
};

}  // namespace attune
