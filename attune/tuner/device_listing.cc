#include "attune/tuner/device_listing.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr int64_t kPartForListing = 6;

Status AddListOf(const SolverId& solver, int64_t limit, Evaluator& evaluator,
                 CandidateSource& source) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Config> configs, evaluator.List(solver));
  const auto most = static_cast<size_t>(limit);
  if (limit > 0 && configs.size() > most) configs.resize(most);
  return source.AddListed(solver, configs);
}

// Solvers worth a list, the most promising first.
std::vector<const Solver*> InOrderOfPromise(const std::vector<const Solver*>& solvers,
                                            bool exhaustive, const CandidateSource& source) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const std::optional<double> best_ns = source.BestNs();
  std::vector<std::pair<double, const Solver*>> listed;
  for (const Solver* solver : solvers) {
    if (!solver->traits().listed_on_device) continue;
    const std::optional<double> its_ns = source.BestNsOf(solver->id());
    if (!exhaustive && its_ns.has_value() && *its_ns > kHopelessToList * *best_ns) continue;
    listed.emplace_back(its_ns.value_or(kUnknown), solver);
  }
  std::stable_sort(listed.begin(), listed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Solver*> ordered;
  for (const auto& [time_ns, solver] : listed) ordered.push_back(solver);
  return ordered;
}

}  // namespace

void AddListed(const std::vector<const Solver*>& solvers, const ListingTerms& terms,
               Evaluator& evaluator, CandidateSource& source, std::vector<std::string>& notes) {
  const int64_t end_ns = terms.clock->NowNs() + terms.per_problem_ns / kPartForListing;
  int64_t longest_ns = 0;
  for (const Solver* solver : InOrderOfPromise(solvers, terms.exhaustive, source)) {
    const int64_t begin_ns = terms.clock->NowNs();
    if (longest_ns > 0 && !terms.exhaustive && begin_ns + longest_ns > end_ns) return;
    const Status added = AddListOf(solver->id(), terms.limit, evaluator, source);
    longest_ns = std::max(longest_ns, terms.clock->NowNs() - begin_ns);
    if (added.ok()) continue;
    notes.push_back(
        fmt::format("{} is tried as it is by default only, because its list could not be had: {}",
                    Text(solver->id()), added.message()));
  }
}

}  // namespace attune
