#include "attune/tuner/past_tuning.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "attune/record/figure_store.h"
#include "attune/trial/figure.h"
#include "attune/tuner/new_set.h"

namespace attune {
namespace {

// A number in the environment of a set; nothing if there is none.
std::optional<int64_t> TermOf(const MeasurementSet& set, std::string_view name) {
  const auto noted = set.environment.find(std::string(name));
  if (noted == set.environment.end()) return std::nullopt;
  const std::string& text = noted->second;
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && rest == text.data() + text.size() && value >= 0;
  return is_whole ? std::optional(value) : std::nullopt;
}

bool SoughtTimeFirst(const MeasurementSet& set) {
  const auto sought = set.environment.find(std::string(kObjectiveTerm));
  return sought == set.environment.end() || sought->second.starts_with(kTimeObjective);
}

}  // namespace

bool MayTryMore(const MeasurementSet& set, int64_t max_candidates) {
  const int64_t most = TermOf(set, kMaxCandidatesTerm).value_or(0);
  return most > 0 && (max_candidates == 0 || max_candidates > most);
}

Result<PastTuning> FindPastTuning(const Tuner& tuner, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<RecordedSet> sets, tuner.FindFinals(problem));
  PastTuning past;
  past.is_decided = tuner.Select(sets).has_value();
  for (RecordedSet& recorded : sets) {
    // A tuning with another first objective gives no evidence about times.
    if (!SoughtTimeFirst(recorded.set)) continue;
    // The set's choice as if it were the first set of the problem.
    recorded.finished = true;
    if (!tuner.Select({&recorded, 1}).has_value()) continue;
    if (MayTryMore(recorded.set, tuner.options().max_candidates)) {
      past.tried_fewer = true;
    } else {
      past.most_time_ns =
          std::max(past.most_time_ns,
                   TermOf(recorded.set, kPerProblemTerm).value_or(PastTuning::kUnknownTimeNs));
    }
    past.newest_unix_ns = std::max(past.newest_unix_ns, recorded.set.started_unix_ns);
  }
  return past;
}

std::vector<size_t> LongestAgoFirst(std::span<const PastTuning> past) {
  std::vector<size_t> order(past.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return past[a].newest_unix_ns < past[b].newest_unix_ns;
  });
  return order;
}

}  // namespace attune
