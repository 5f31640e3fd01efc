#include "apps/attune/outcome_counts.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "apps/attune/application.h"

namespace attune {

using Kind = ProblemOutcome::Kind;

namespace {

size_t PlaceOf(Kind kind) {
  constexpr auto& kKinds = OutcomeCounts::kKinds;
  return static_cast<size_t>(std::find(kKinds.begin(), kKinds.end(), kind) - kKinds.begin());
}

}  // namespace

void OutcomeCounts::Add(Kind kind) { ++of_kind[PlaceOf(kind)]; }

int64_t OutcomeCounts::Of(Kind kind) const { return of_kind[PlaceOf(kind)]; }

int64_t OutcomeCounts::all() const {
  return std::accumulate(of_kind.begin(), of_kind.end(), int64_t{0});
}

bool OutcomeCounts::IsInVain() const {
  if (all() == 0) return true;
  return Of(Kind::kTuned) + Of(Kind::kAlreadyTuned) == 0 && Of(Kind::kNotReached) < all();
}

OutcomeCounts CountOutcomes(const RunSummary& summary) {
  OutcomeCounts counts;
  for (const ProblemOutcome& outcome : summary.outcomes) counts.Add(outcome.kind);
  return counts;
}

std::string Text(const OutcomeCounts& counts) {
  std::string text = fmt::format("{} tuned", counts.Of(Kind::kTuned));
  const auto add = [&](Kind kind, const char* words) {
    if (const int64_t count = counts.Of(kind)) text += fmt::format(", {} {}", count, words);
  };
  add(Kind::kAlreadyTuned, "tuned before");
  add(Kind::kUnsupported, "unsupported");
  add(Kind::kFailed, "failed");
  add(Kind::kNotReached, "not reached");
  return text;
}

int ExitStatusOf(const OutcomeCounts& counts) {
  if (counts.IsInVain()) return kExitFailed;
  const bool is_complete = counts.Of(Kind::kFailed) == 0 && counts.Of(Kind::kNotReached) == 0;
  return is_complete ? kExitDone : kExitPartly;
}

double BusyShare(int64_t busy_ns, int64_t wall_ns) {
  return wall_ns > 0 ? static_cast<double>(busy_ns) / static_cast<double>(wall_ns) : 0;
}

}  // namespace attune
