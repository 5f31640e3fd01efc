// Problems, choices and finished measurement sets made from a seed, for tests of indexes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/record_store.h"
#include "attune/trial/choice_source.h"

namespace attune {

inline int64_t RandomSize(Random& random, int largest_exponent) {
  const int64_t octave = int64_t{1} << random.Below(static_cast<uint64_t>(largest_exponent) + 1);
  return octave + static_cast<int64_t>(random.Below(static_cast<uint64_t>(octave)));
}

// One of eight families of GEMMs.
inline Problem RandomGemm(Random& random) {
  Gemm gemm =
      PackedGemm(1 + RandomSize(random, 10), 1 + RandomSize(random, 10), RandomSize(random, 10));
  gemm.lda = gemm.ldb = gemm.ldc = 0;
  gemm.trans_a = random.Below(2) == 0 ? Transpose::kNo : Transpose::kYes;
  gemm.beta = random.Below(2) == 0 ? ScalarClass::kZero : ScalarClass::kOne;
  if (random.Below(2) == 0) {
    gemm.batch_count = 2 + static_cast<int64_t>(random.Below(6));
    gemm.stride_a = gemm.stride_b = kPackedStride;
  }
  return Normalized(gemm);
}

// One of eight families of convolutions.
inline Problem RandomConv(Random& random) {
  Conv conv;
  conv.direction = random.Below(2) == 0 ? ConvDirection::kForward : ConvDirection::kBackwardData;
  conv.batch = RandomSize(random, 5);
  conv.in_channels = RandomSize(random, 8);
  conv.out_channels = RandomSize(random, 8);
  conv.in = {1, 8 + RandomSize(random, 6), 8 + RandomSize(random, 6)};
  conv.filter = random.Below(2) == 0 ? Spatial{1, 1, 1} : Spatial{1, 3, 3};
  if (random.Below(2) == 0) conv.pad = {0, 1, 1};
  return conv;
}

inline Problem RandomProblem(Random& random) {
  return random.Below(2) == 0 ? RandomGemm(random) : RandomConv(random);
}

// One of two machines.
inline Target SampleTargetOf(uint64_t number) {
  return {"host", fmt::format("Machine {}", number % 2), "x86-64-v4", 2, {{"isa", "avx512"}}};
}

inline Environment SampleEnvironmentOf(uint64_t number) {
  return {{"library.openblas", fmt::format("0.3.{}", number)}, {"policy.omp_wait", "passive"}};
}

inline Candidate CandidateNumber(uint64_t number) {
  Candidate candidate{{fmt::format("host.solver-{}", number % 5), 1}, {}};
  candidate.config["threads"] = static_cast<int64_t>(number);
  return candidate;
}

inline IndexedChoice RandomChoice(int64_t revision, Random& random) {
  IndexedChoice choice;
  const uint64_t place = random.Below(3);
  choice.target = std::make_shared<const Target>(SampleTargetOf(place));
  choice.environment = std::make_shared<const Environment>(SampleEnvironmentOf(place));
  choice.cache = random.Below(4) == 0 ? CacheState::kCold : CacheState::kWarm;
  choice.revision = revision;
  choice.started_unix_ns = revision * 10;
  const uint64_t count = 1 + random.Below(kMaxRanked);
  for (uint64_t i = 0; i < count; ++i) {
    choice.ranking.push_back({CandidateNumber(i * 7 + random.Below(7)), 1 + random.Uniform(),
                              static_cast<int64_t>(random.Below(1000)),
                              static_cast<int64_t>(random.Below(1000)),
                              static_cast<int64_t>(random.Below(1000))});
  }
  choice.default_position = random.Below(count);
  choice.speedup = 1 + random.Uniform();
  choice.speedup_low = 1;
  choice.speedup_high = 2;
  choice.confidence = 0.99;
  return choice;
}

// Compares the content of two choices and ignores which copy of a target they share.
inline void ExpectSameChoice(const IndexedChoice& a, const IndexedChoice& b) {
  EXPECT_EQ(*a.target, *b.target);
  EXPECT_EQ(*a.environment, *b.environment);
  EXPECT_EQ(a.cache, b.cache);
  EXPECT_EQ(a.revision, b.revision);
  EXPECT_EQ(a.started_unix_ns, b.started_unix_ns);
  EXPECT_EQ(a.ranking, b.ranking);
  EXPECT_EQ(a.default_position, b.default_position);
  EXPECT_EQ(a.speedup, b.speedup);
  EXPECT_EQ(a.speedup_low, b.speedup_low);
  EXPECT_EQ(a.speedup_high, b.speedup_high);
  EXPECT_EQ(a.confidence, b.confidence);
}

inline void ExpectSameChoices(const std::vector<IndexedChoice>& a,
                              const std::vector<IndexedChoice>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ExpectSameChoice(a[i], b[i]);
}

inline void ExpectSameNeighbours(const std::vector<Neighbour>& a, const std::vector<Neighbour>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].distance, b[i].distance);
    EXPECT_EQ(Text(a[i].problem), Text(b[i].problem));
  }
}

// A trial with samples of `median_ns` and a little more and less.
inline Trial TimedTrial(const Candidate& candidate, TrialRole role, double median_ns) {
  Trial trial;
  trial.candidate = candidate;
  trial.role = role;
  Measurement measurement;
  for (int i = 0; i < 48; ++i) measurement.samples_ns.push_back(median_ns * (1 + 0.001 * (i % 3)));
  measurement.median_ns = median_ns;
  measurement.low_ns = median_ns;
  measurement.high_ns = median_ns * 1.01;
  measurement.confidence = 0.99;
  trial.outcome = std::move(measurement);
  return trial;
}

inline MeasurementSet NewSet(const Problem& problem, uint64_t place) {
  MeasurementSet set;
  set.id = NewSetId();
  set.problem = problem;
  set.target = SampleTargetOf(place);
  set.environment = SampleEnvironmentOf(place);
  return set;
}

// A default of 1000 ns and a winner that is `speedup` times faster, with the number `winner`.
inline std::vector<Trial> DecidedTrials(uint64_t winner, double speedup) {
  Trial standard = TimedTrial(CandidateNumber(1000), TrialRole::kFinal, 1000);
  standard.is_default = true;
  return {TimedTrial(CandidateNumber(500), TrialRole::kScreen, 2000), standard,
          TimedTrial(CandidateNumber(winner), TrialRole::kFinal, 1000 / speedup)};
}

// Stores a finished set of `problem`.
inline void Tune(RecordStore& store, const Problem& problem, uint64_t place, uint64_t winner) {
  const MeasurementSet set = NewSet(problem, place);
  ASSERT_EQ(store.BeginSet(set), Status::Ok());
  ASSERT_EQ(store.Append(set.id, DecidedTrials(winner, 2)), Status::Ok());
  ASSERT_EQ(store.FinishSet(set.id), Status::Ok());
}

}  // namespace attune
