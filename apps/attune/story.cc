#include "apps/attune/story.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace attune {
namespace {

Measurement WithoutSamples(Measurement measurement) {
  measurement.samples_ns.clear();
  return measurement;
}

// Median of the default in the current screening round; the default is the first of each round.
using HeatDefault = std::optional<double>;

void Add(const Trial& trial, HeatDefault& heat, Story& story) {
  story.candidate = trial.candidate;
  story.is_default = story.is_default || trial.is_default;
  story.build_ns = std::max(story.build_ns, trial.build_ns);
  story.load_ns = std::max(story.load_ns, trial.load_ns);
  story.workspace_bytes = std::max(story.workspace_bytes, trial.workspace_bytes);
  story.max_error = std::max(story.max_error, trial.max_error);
  if (!trial.capture_failure.empty()) story.capture_failure = trial.capture_failure;
  if (trial.failure() != nullptr) story.failure = *trial.failure();
  if (trial.measurement() == nullptr) return;
  auto& measured = trial.role == TrialRole::kFinal ? story.final : story.screen;
  measured = WithoutSamples(*trial.measurement());
  if (trial.role != TrialRole::kScreen) return;
  if (trial.is_default) heat = measured->median_ns;
  if (heat && *heat > 0) story.screen_ratio = measured->median_ns / *heat;
}

// Order in a list: the class, then the time.
std::pair<int, double> Rank(const Story& story) {
  if (story.failure) return {3, 0};
  if (story.final) return {0, story.final->median_ns};
  if (story.screen) return {1, story.screen->median_ns};
  return {2, 0};
}

}  // namespace

std::vector<Story> StoriesOf(const RecordedSet& set) {
  std::map<Candidate, Story> by_candidate;
  HeatDefault heat;
  for (const Record& record : set.records) {
    Add(record.trial, heat, by_candidate[record.trial.candidate]);
  }
  std::vector<Story> stories;
  for (auto& [candidate, story] : by_candidate) stories.push_back(std::move(story));
  std::stable_sort(stories.begin(), stories.end(),
                   [](const Story& a, const Story& b) { return Rank(a) < Rank(b); });
  return stories;
}

std::optional<double> TimeAgainst(const Story& story, const Story& winner) {
  if (story.final && winner.final && winner.final->median_ns > 0) {
    return story.final->median_ns / winner.final->median_ns;
  }
  if (story.screen_ratio && winner.screen_ratio && *winner.screen_ratio > 0) {
    return *story.screen_ratio / *winner.screen_ratio;
  }
  return std::nullopt;
}

const Story* FindStory(const std::vector<Story>& stories, const Candidate& candidate) {
  const auto found = std::find_if(stories.begin(), stories.end(),
                                  [&](const Story& story) { return story.candidate == candidate; });
  return found == stories.end() ? nullptr : &*found;
}

}  // namespace attune
