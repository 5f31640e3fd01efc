// What is recorded with a measurement set before its first trial.
#pragma once

#include <string_view>

#include "attune/problem/problem.h"
#include "attune/record/record.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Of the environment that a set is recorded with: the time that its problem had, in nanoseconds.
inline constexpr std::string_view kPerProblemTerm = "tuning.per_problem_ns";

// How many candidates were tried at most; absent where time was the only limit.
inline constexpr std::string_view kMaxCandidatesTerm = "tuning.max_candidates";

// Where each solver had one config (TuneOptions::only_configs), and nothing was searched: "find".
inline constexpr std::string_view kSearchTerm = "tuning.search";

// A set of `problem` that begins now: with a new id, here, under the terms of `options`, which
// stand in its environment and decide nothing about where it is valid.
MeasurementSet NewSet(const Problem& problem, const TunerParts& parts, const TuneOptions& options);

}  // namespace attune
