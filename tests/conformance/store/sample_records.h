// Problems, measurement sets and trials of every kind, made from a seed, for tests of stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/base/random.h"
#include "attune/record/record.h"
#include "attune/record/record_store.h"

namespace attune {

// The gemm of order 1 + `index`.
Problem SampleProblem(int64_t index);
std::vector<TaggedProblem> SampleProblems(int64_t count);

Target SampleTarget();
Environment SampleEnvironment();

// A set for SampleProblem(problem_index) that started at `started_unix_ns`; its id follows from
// `random`.
MeasurementSet SampleSet(int64_t problem_index, int64_t started_unix_ns, Random& random);

// A trial of `role` with `sample_count` samples.
Trial SampleMeasured(TrialRole role, size_t sample_count, Random& random);
// A failure whose message has every kind of byte, NUL and bad UTF-8 among them.
Trial SampleFailed(Random& random);
// A mixture of passed, failed, screened and final trials.
std::vector<Trial> SampleTrials(size_t count, Random& random);

// Before with everything in it, after with a part.
SetConditions SampleConditions(Random& random);

// Everything that `query` gives, in order.
Result<std::vector<RecordedSet>> Collected(RecordStore& store, const RecordQuery& query = {});
// The trials of a set, without what the store adds.
std::vector<Trial> TrialsOf(const RecordedSet& recorded);

}  // namespace attune
