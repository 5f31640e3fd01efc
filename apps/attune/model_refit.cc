#include "apps/attune/model_refit.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/index/model_origin.h"
#include "attune/index/refit.h"
#include "runtime/launches_at.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// A process that times now is likely to time for long; the next run can refit as well.
constexpr int64_t kPatienceNs = 5'000'000'000;

Result<std::vector<Refit>> RefitInTurn(Application& application, Workshop& workshop,
                                       const std::string& database) {
  const int64_t end_ns = SteadyNowNs() + kPatienceNs;
  ATTUNE_ASSIGN_OR_RETURN(const auto grant, workshop.TakeTurn(MachineUse::kPrepare, [end_ns] {
    return SteadyNowNs() < end_ns;
  }));
  const Place& place = workshop.place();
  return RefitGrown(application.all_records(), database, place.target,
                    OriginOf(place.target, place.environment), LaunchesAt(place).get());
}

}  // namespace

void RefitModels(Application& application, Workshop& workshop, const RunSummary& summary) {
  const bool has_tuned = std::ranges::any_of(summary.outcomes, [](const ProblemOutcome& outcome) {
    return outcome.kind == ProblemOutcome::Kind::kTuned;
  });
  const auto database = application.DatabasePath();
  if (!has_tuned || !database.ok() || IsOnServer(*database)) return;
  const auto refits = RefitInTurn(application, workshop, *database);
  if (!refits.ok()) {
    application.err().Print(fmt::format("attune tune: The models of time stay as they are: {}\n",
                                        Printable(refits.error().message())));
    return;
  }
  for (const Refit& refit : *refits) application.err().Print(Text(refit) + "\n");
}

}  // namespace attune
