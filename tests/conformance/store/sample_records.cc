#include "tests/conformance/store/sample_records.h"

#include <limits>

#include "attune/base/fingerprint.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

Candidate SampleCandidate(Random& random) {
  const char* solvers[] = {"host.openblas-gemm", "host.onednn-gemm", "opencl.tiled-gemm"};
  Candidate candidate;
  candidate.solver = {solvers[random.Below(3)], 1 + static_cast<int>(random.Below(2))};
  candidate.config["threads"] = static_cast<int64_t>(1 + random.Below(8));
  candidate.config["layout"] = std::string(random.Below(2) == 0 ? "any" : "plain");
  return candidate;
}

Trial SampleTrial(TrialRole role, Random& random) {
  Trial trial;
  trial.candidate = SampleCandidate(random);
  trial.role = role;
  trial.is_default = random.Below(5) == 0;
  trial.build_ns = static_cast<int64_t>(random.Below(1'000'000'000));
  trial.load_ns = static_cast<int64_t>(random.Below(1'000'000));
  trial.workspace_bytes = static_cast<int64_t>(random.Below(1 << 20));
  trial.max_error = random.Uniform();
  // Any bytes, and no random number, so that the others stay what they were.
  if (trial.load_ns % 3 == 0) trial.capture_failure = std::string("It \0 'allocates'\xff", 17);
  return trial;
}

}  // namespace

Problem SampleProblem(int64_t index) {
  const int64_t order = 1 + index;
  return Normalized(PackedGemm(order, order, order));
}

std::vector<TaggedProblem> SampleProblems(int64_t count) {
  std::vector<TaggedProblem> problems;
  for (int64_t i = 0; i < count; ++i) problems.push_back({SampleProblem(i), 1 + i % 7});
  return problems;
}

Target SampleTarget() { return {"host", "AMD EPYC 9654", "x86-64-v4", 2, {{"isa", "avx512"}}}; }

Environment SampleEnvironment() {
  return {
      {"library.onednn", "2.6.3"}, {"library.openblas", "0.3.21"}, {"policy.omp_wait", "passive"}};
}

MeasurementSet SampleSet(int64_t problem_index, int64_t started_unix_ns, Random& random) {
  MeasurementSet set;
  set.id = Fingerprint{random.Next(), random.Next()}.ToHex();
  set.problem = SampleProblem(problem_index);
  set.target = SampleTarget();
  set.environment = SampleEnvironment();
  set.peaks = {1.5e11, 7.5e10, 2.1e10};
  set.cache = CacheState::kCold;
  set.seed = std::numeric_limits<uint64_t>::max() - random.Below(100);
  set.searcher = "exhaustive";
  set.measured_by = "J\xC3\xB6rg 100%@host";
  set.attune_version = "0.1.0";
  set.started_unix_ns = started_unix_ns;
  return set;
}

Trial SampleMeasured(TrialRole role, size_t sample_count, Random& random) {
  Trial trial = SampleTrial(role, random);
  Measurement measurement;
  measurement.cache = CacheState::kCold;
  for (size_t i = 0; i < sample_count; ++i) {
    measurement.samples_ns.push_back(1000 * (1 + random.Uniform()));
  }
  measurement.median_ns = 1500 + random.Uniform();
  measurement.low_ns = 1400 + random.Uniform();
  measurement.high_ns = 1600 + random.Uniform();
  measurement.confidence = 0.99;
  trial.outcome = std::move(measurement);
  return trial;
}

Trial SampleFailed(Random& random) {
  constexpr FailureKind kKinds[] = {FailureKind::kNotApplicable, FailureKind::kBuildFailed,
                                    FailureKind::kWrongResult, FailureKind::kCrashed};
  Trial trial = SampleTrial(TrialRole::kQualify, random);
  Failure failure;
  failure.kind = kKinds[random.Below(std::size(kKinds))];
  failure.phase = Phase::kVerify;
  for (int byte = 0; byte < 256; ++byte) failure.message += static_cast<char>(byte);
  trial.outcome = std::move(failure);
  trial.capture_failure.clear();
  trial.max_error = std::numeric_limits<double>::infinity();
  return trial;
}

std::vector<Trial> SampleTrials(size_t count, Random& random) {
  std::vector<Trial> trials;
  for (size_t i = 0; i < count; ++i) {
    switch (random.Below(4)) {
      case 0:
        trials.push_back(SampleTrial(TrialRole::kQualify, random));
        break;
      case 1:
        trials.push_back(SampleFailed(random));
        break;
      case 2:
        trials.push_back(SampleMeasured(TrialRole::kScreen, random.Below(8), random));
        break;
      default:
        trials.push_back(SampleMeasured(TrialRole::kFinal, 1 + random.Below(30), random));
    }
  }
  return trials;
}

SetConditions SampleConditions(Random& random) {
  DeviceConditions before;
  before.compute_clock_mhz = static_cast<int64_t>(300 + random.Below(1700));
  before.memory_clock_mhz = 2619;
  before.power_w = 700 * random.Uniform();
  before.power_limit_w = 700;
  before.temperature_c = static_cast<int64_t>(random.Below(90)) - 20;
  before.clock_reasons = {"gpu_idle"};
  DeviceConditions after;
  after.compute_clock_mhz = before.compute_clock_mhz;
  after.clock_reasons = {"bit_40", "hw_slowdown", "sw_power_cap"};
  return {before, after};
}

Result<std::vector<RecordedSet>> Collected(RecordStore& store, const RecordQuery& query) {
  std::vector<RecordedSet> sets;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) {
    sets.push_back(recorded);
    return Status::Ok();
  }));
  return sets;
}

std::vector<Trial> TrialsOf(const RecordedSet& recorded) {
  std::vector<Trial> trials;
  for (const Record& record : recorded.records) trials.push_back(record.trial);
  return trials;
}

}  // namespace attune
