// The head of a measurement set, recorded before its first trial.
#pragma once

#include <string_view>

#include "attune/problem/problem.h"
#include "attune/record/record.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Fact of a set's environment: the time of its problem, in nanoseconds.
inline constexpr std::string_view kPerProblemTerm = "tuning.per_problem_ns";

// Maximum number of candidates; absent if time was the only limit.
inline constexpr std::string_view kMaxCandidatesTerm = "tuning.max_candidates";

// "find" if each solver had one config (TuneOptions::only_configs) and nothing was searched.
inline constexpr std::string_view kSearchTerm = "tuning.search";

// A set of `problem` that begins now: with a new id, here, under the terms of `options`, which are
// in its environment but do not restrict where it is valid.
MeasurementSet NewSet(const Problem& problem, const TunerParts& parts, const TuneOptions& options);

}  // namespace attune
