#include "attune/session/job.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"

namespace attune {
namespace {

constexpr std::array<std::pair<JobState, std::string_view>, kJobStates> kStates = {{
    {JobState::kQueued, "queued"},
    {JobState::kLeased, "leased"},
    {JobState::kDone, "done"},
    {JobState::kFailed, "failed"},
    {JobState::kCancelled, "cancelled"},
}};

}  // namespace

std::string Text(const JobStep& step) {
  return fmt::format("{}:{}", step.search == JobSearch::kFind ? "find" : "perf",
                     step.work == JobWork::kCompile ? "compile" : "measure");
}

std::vector<JobStep> AllJobSteps() {
  return {{JobSearch::kPerf, JobWork::kCompile},
          {JobSearch::kPerf, JobWork::kMeasure},
          {JobSearch::kFind, JobWork::kCompile},
          {JobSearch::kFind, JobWork::kMeasure}};
}

Result<JobStep> ParseJobStep(std::string_view text) {
  for (const JobStep& step : AllJobSteps()) {
    if (Text(step) == text) return step;
  }
  return InvalidArgument(
      fmt::format("'{}' is no step; there are perf:compile, perf:measure, find:compile and "
                  "find:measure.",
                  Excerpt(text)));
}

std::string_view Name(JobState state) { return kStates[static_cast<size_t>(state)].second; }

Result<JobState> ParseJobState(std::string_view name) {
  for (const auto& [state, its_name] : kStates) {
    if (its_name == name) return state;
  }
  return InvalidArgument(fmt::format(
      "'{}' is no state; there are queued, leased, done, failed and cancelled.", Excerpt(name)));
}

}  // namespace attune
