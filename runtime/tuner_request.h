// What a run time asks of attune-tuner, as a value and as the line that travels.
// docs/formats/tuner_protocol.md.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"
#include "attune/tunable/numerical_check.h"

namespace attune {

class TunableContext;

inline constexpr int kTunerProtocolVersion = 2;

// How the candidates of one problem are to be measured; what is left as it is here is as usual.
struct TuningTerms {
  int64_t max_duration_ms = 0;  // Of the timed launches of one candidate; 0: no limit. As the next.
  int64_t max_iterations = 0;   // How many they are.
  int64_t max_warmup_duration_ms = 0;
  int64_t max_warmup_iterations = 0;
  std::set<std::string> disabled_libraries;  // Words of solver names, as "openblas".
  int64_t max_listed = 0;                    // Of what a library lists on the device; 0: all.
  int64_t rotation_bytes = 0;                // Of copies of the operands; 0: they do not rotate.
  NumericalCheck numerical_check;            // Of outputs against the default's.

  friend bool operator==(const TuningTerms&, const TuningTerms&) = default;
};

// More than this means nothing, and is refused.
inline constexpr int64_t kLongestTermMs = 86'400'000;
inline constexpr int64_t kMostTermIterations = 1'000'000'000;
inline constexpr int64_t kMaxRotationBytes = int64_t{1} << 40;
inline constexpr size_t kMaxDisabledLibraries = 256;
inline constexpr size_t kMaxLibraryNameBytes = 64;

// What the switches of TunableOp's kind ask of a measurement, while they are on.
// ICACHE_FLUSH_ENABLED and TUNING_MEASUREMENT_MODE ask nothing: docs/tunableop.md says why.
TuningTerms TermsOf(const TunableContext& tunable);

// kInvalidArgument names the field, its value and the limit.
Status Validate(const TuningTerms& terms);

struct TunerRequest {
  Problem problem;
  TuningTerms terms = {};
  // What serves it meanwhile although nobody measured it there (TuneOptions::served).
  std::optional<Candidate> served = {};

  friend bool operator==(const TunerRequest&, const TunerRequest&) = default;
};

// One line without its end. Terms that are as usual are left out.
std::string Encode(const TunerRequest& request);
// kInvalidArgument says what of the line cannot be read or is out of its limits.
Result<TunerRequest> DecodeTunerRequest(std::string_view line);

}  // namespace attune
