#include "attune/tunable/result_choices.h"

#include <utility>

#include <fmt/format.h>

#include "attune/formats/cublaslt_name.h"
#include "attune/problem/text_error.h"

namespace attune {
namespace {

constexpr std::string_view kDefaultSolution = "Default";
constexpr double kNsPerMs = 1e6;

// The origin of the result that serves, in one sentence.
std::string WhyChosen(const TunableHit& hit) {
  const ResultLine& line = hit.result.line;
  const std::string names = fmt::format("{},{}", line.key.op, line.key.params);
  if (line.milliseconds.value_or(0) <= 0) {
    return fmt::format("The line {} of the results chose it; nobody has measured it.", names);
  }
  if (hit.matched_by == MatchedBy::kWildcard) {
    return fmt::format("The wildcard {} of the results chose it, tuned for other sizes.", names);
  }
  return fmt::format("The result of {} chose it.", names);
}

Status NoResolver(std::string_view solution) {
  return NotFound(fmt::format("{} is no candidate of attune.", Quoted(solution)));
}

}  // namespace

ResultChoices::ResultChoices(TunableIdentity here, SolutionResolver solutions, Note note)
    : target_(std::make_shared<const Target>(std::move(here.target))),
      environment_(std::make_shared<const Environment>(std::move(here.environment))),
      solutions_(std::move(solutions)),
      note_(std::move(note)) {}

void ResultChoices::SetServing(bool serves, bool wildcards) {
  serves_.store(serves, std::memory_order_relaxed);
  wildcards_.store(wildcards, std::memory_order_relaxed);
}

Result<Candidate> ResultChoices::CandidateOf(const Problem& problem,
                                             const std::string& solution) const {
  if (solution == kDefaultSolution) {
    if (!solutions_.default_of) return NoResolver(solution);
    return solutions_.default_of(problem);
  }
  auto candidate = ParseSolution(solution);
  if (!candidate.ok() && solutions_.find) candidate = solutions_.find(problem, solution);
  if (!candidate.ok()) return NoResolver(solution);
  if (solutions_.check) ATTUNE_RETURN_IF_ERROR(solutions_.check(problem, *candidate));
  return candidate;
}

std::optional<TunableHit> ResultChoices::FirstUsable(const Problem& problem, bool wildcards,
                                                     std::vector<std::string>& unusable) const {
  for (TableMatch& match : table_.Matching(problem, wildcards)) {
    auto candidate = CandidateOf(problem, match.result.line.solution);
    if (candidate.ok()) {
      return TunableHit{std::move(match.result), match.matched_by, *std::move(candidate)};
    }
    unusable.push_back(fmt::format("The result of {},{} cannot serve {}: {}",
                                   match.result.line.key.op, match.result.line.key.params,
                                   Text(problem), candidate.error().message()));
  }
  return std::nullopt;
}

std::optional<TunableHit> ResultChoices::Lookup(const Problem& problem) const {
  if (!serves_.load(std::memory_order_relaxed)) return std::nullopt;
  std::vector<std::string> unusable;
  auto hit = FirstUsable(problem, wildcards_.load(std::memory_order_relaxed), unusable);
  unusable_.fetch_add(static_cast<int64_t>(unusable.size()), std::memory_order_relaxed);
  if (note_) {
    for (const std::string& reason : unusable) note_(reason);
  }
  if (hit) {
    hits_[static_cast<int>(hit->matched_by)].fetch_add(1, std::memory_order_relaxed);
  } else {
    misses_.fetch_add(1, std::memory_order_relaxed);
  }
  return hit;
}

std::optional<TunableHit> ResultChoices::FindConcrete(const Problem& problem) const {
  std::vector<std::string> unusable;
  return FirstUsable(problem, false, unusable);
}

Result<std::vector<IndexedChoice>> ResultChoices::Find(const Problem& problem) const {
  if (!serves_.load(std::memory_order_relaxed)) return std::vector<IndexedChoice>();
  std::vector<std::string> unusable;
  const auto hit = FirstUsable(problem, wildcards_.load(std::memory_order_relaxed), unusable);
  if (!hit) return std::vector<IndexedChoice>();
  IndexedChoice choice;
  choice.target = target_;
  choice.environment = environment_;
  RankedCandidate best;
  best.candidate = hit->candidate;
  // The time of a wildcard is that of other sizes.
  if (hit->matched_by != MatchedBy::kWildcard) {
    best.median_ns = hit->result.line.milliseconds.value_or(0) * kNsPerMs;
  }
  choice.ranking.push_back(std::move(best));
  choice.is_override = hit->result.line.milliseconds.value_or(0) <= 0;
  choice.because = WhyChosen(*hit);
  if (solutions_.default_of) {
    const auto default_candidate = solutions_.default_of(problem);
    if (default_candidate.ok() && *default_candidate != hit->candidate) {
      RankedCandidate ranked;
      ranked.candidate = *default_candidate;
      choice.ranking.push_back(std::move(ranked));
      choice.default_position = 1;
    }
  }
  return std::vector<IndexedChoice>{std::move(choice)};
}

Result<std::vector<Neighbour>> ResultChoices::Nearest(const Problem&, size_t, double) const {
  return std::vector<Neighbour>();
}

std::vector<std::string> ResultChoices::Unusable(const Problem& problem) const {
  std::vector<std::string> reasons;
  if (!serves_.load(std::memory_order_relaxed)) return reasons;
  if (FirstUsable(problem, wildcards_.load(std::memory_order_relaxed), reasons)) return reasons;
  for (std::string& reason : table_.Rejections(problem)) reasons.push_back(std::move(reason));
  return reasons;
}

int64_t ResultChoices::problem_count() const { return static_cast<int64_t>(table_.size()); }

TunableCounters ResultChoices::counters() const {
  TunableCounters counters;
  counters.hits_by_problem = hits_[0].load(std::memory_order_relaxed);
  counters.hits_by_key = hits_[1].load(std::memory_order_relaxed);
  counters.hits_by_wildcard = hits_[2].load(std::memory_order_relaxed);
  counters.misses = misses_.load(std::memory_order_relaxed);
  counters.unusable = unusable_.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace attune
