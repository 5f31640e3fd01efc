#include "attune/index/fitting.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "attune/base/random.h"

namespace attune {
namespace {

// Neighbours are searched for among all problems, in a caller's thread.
constexpr size_t kMostProblemsForNeighbours = 250;
constexpr uint64_t kSeed = 1;

size_t ProblemsOf(const std::vector<Sample>& samples) {
  std::set<uint64_t> configurations;
  for (const Sample& sample : samples) configurations.insert(sample.configuration);
  return configurations.size();
}

Result<TimeModel> Unfitted(const FeatureSet& features, const std::vector<Sample>& samples) {
  const bool has_neighbours = ProblemsOf(samples) <= kMostProblemsForNeighbours;
  if (samples.size() > kMostForAll && !has_neighbours) return TimeModel::ForChoosing(features);
  ATTUNE_ASSIGN_OR_RETURN(TimeModel model, samples.size() <= kMostForAll
                                               ? TimeModel::Standard(features, {})
                                               : TimeModel::ForChoosingAmongMany(features));
  if (has_neighbours) model.MayChooseByNeighbours();
  return model;
}

}  // namespace

Result<TimeModel> FitUsual(const FeatureSet& features, const std::vector<Sample>& samples) {
  ATTUNE_ASSIGN_OR_RETURN(TimeModel model, Unfitted(features, samples));
  ATTUNE_RETURN_IF_ERROR(model.Fit(samples));
  return model;
}

Result<std::optional<ModelScore>> HeldOutScore(const TimeSamples& data, double share) {
  std::vector<bool> is_held(data.configurations);
  Random random(kSeed);
  for (size_t i = 0; i < is_held.size(); ++i) is_held[i] = random.Uniform() < share;
  std::vector<Sample> learnt, held_out;
  for (const Sample& sample : data.samples) {
    (is_held[sample.configuration] ? held_out : learnt).push_back(sample);
  }
  const auto learnt_configurations = std::count(is_held.begin(), is_held.end(), false);
  if (held_out.empty() || learnt_configurations < 2) return std::optional<ModelScore>();
  ATTUNE_ASSIGN_OR_RETURN(const TimeModel model, FitUsual(data.features, learnt));
  return std::optional<ModelScore>(ScoreOf(model, held_out));
}

}  // namespace attune
