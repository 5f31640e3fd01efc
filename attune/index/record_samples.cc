#include "attune/index/record_samples.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "attune/index/model_origin.h"
#include "attune/model/launch_features.h"
#include "attune/model/shape_features.h"

namespace attune {
namespace {

// In ns; 0 if nothing was timed. A candidate too slow to be screened has only the quick time of
// qualifying. Without it, a model would know the candidate only from problems that it is good for.
double TimeIn(const Record& record) {
  if (record.trial.role == TrialRole::kQualify) return record.quick_ns;
  const Measurement* const measured = record.trial.measurement();
  return measured == nullptr ? 0 : measured->median_ns;
}

// Within one set finals override screens, and those override quick times. Later sets override
// earlier ones, except that a quick time overrides nothing.
void TakeTrials(const RecordedSet& recorded, std::map<std::string, double>& times) {
  for (const TrialRole role : {TrialRole::kQualify, TrialRole::kScreen, TrialRole::kFinal}) {
    for (const Record& record : recorded.records) {
      const double time_ns = TimeIn(record);
      if (record.trial.role != role || time_ns <= 0) continue;
      const double time_ms = time_ns / 1e6;
      const std::string candidate = Text(record.trial.candidate);
      if (role == TrialRole::kQualify) {
        times.try_emplace(candidate, time_ms);
      } else {
        times[candidate] = time_ms;
      }
    }
  }
}

// For a candidate with several kernels, the time of each is unknown.
std::optional<LaunchProfile> ProfileIn(const LaunchSource* launches, const TimedCandidate& timed) {
  if (launches == nullptr) return std::nullopt;
  const auto candidate = ParseCandidate(timed.algorithm);
  return candidate.ok() ? FindOneKernel(*launches, timed.problem, *candidate) : std::nullopt;
}

}  // namespace

Result<std::vector<TimedCandidate>> TimedInRecords(RecordStore& store, const Target& target,
                                                   const ModelOrigin& origin) {
  std::map<std::string, std::pair<Problem, std::map<std::string, double>>> problems;
  RecordQuery query;
  query.backend = target.backend;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) {
    const MeasurementSet& set = recorded.set;
    if (set.target != target || LibrariesOf(set.environment) != origin.library) return Status::Ok();
    auto& [problem, times] = problems[Text(set.problem)];
    problem = set.problem;
    TakeTrials(recorded, times);
    return Status::Ok();
  }));
  std::vector<TimedCandidate> timed;
  for (const auto& [text, entry] : problems) {
    for (const auto& [candidate, time_ms] : entry.second) {
      timed.push_back({entry.first, candidate, time_ms});
    }
  }
  return timed;
}

Result<TimeSamples> SamplesOf(const std::vector<TimedCandidate>& timed,
                              const std::string& operator_name, const LaunchSource* launches) {
  TimeSamples data;
  ATTUNE_ASSIGN_OR_RETURN(data.features, ShapeFeatures(operator_name));
  std::map<std::string, uint64_t> configurations;
  for (const TimedCandidate& one : timed) {
    if (one.problem.op().name() != operator_name) {
      ++data.left_out;
      continue;
    }
    Sample sample;
    sample.row = ShapeRow(one.problem, one.algorithm);
    sample.time_ms = one.time_ms;
    sample.configuration =
        configurations.emplace(Text(one.problem), configurations.size()).first->second;
    const std::optional<LaunchProfile> profile = ProfileIn(launches, one);
    if (!profile.has_value() || profile->needs_device) data.samples.push_back(sample);
    if (!profile.has_value()) continue;
    ATTUNE_ASSIGN_OR_RETURN(data.features, LaunchFeatures(operator_name));
    sample.row.kernels = KernelRowsOf(one.problem, *profile);
    sample.kernel_times_ms = {one.time_ms};
    data.samples.push_back(std::move(sample));
  }
  data.configurations = configurations.size();
  return data;
}

}  // namespace attune
