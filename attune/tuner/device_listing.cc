#include "attune/tuner/device_listing.h"

#include <fmt/format.h>

namespace attune {
namespace {

Status AddListOf(const SolverId& solver, int64_t limit, Evaluator& evaluator,
                 CandidateSource& source) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Config> configs, evaluator.List(solver));
  const auto most = static_cast<size_t>(limit);
  if (limit > 0 && configs.size() > most) configs.resize(most);
  return source.AddListed(solver, configs);
}

}  // namespace

void AddListed(const std::vector<const Solver*>& solvers, int64_t limit, Evaluator& evaluator,
               CandidateSource& source, std::vector<std::string>& notes) {
  for (const Solver* solver : solvers) {
    if (!solver->traits().listed_on_device) continue;
    const Status added = AddListOf(solver->id(), limit, evaluator, source);
    if (added.ok()) continue;
    notes.push_back(
        fmt::format("{} is tried as it is by default only, because its list could not be had: {}",
                    Text(solver->id()), added.message()));
  }
}

}  // namespace attune
