#include "apps/attune/session/record_place.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/attune/session/absent_backend.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/terminal.h"

namespace attune {
namespace {

// A session's knowledge of its solvers and of the environment they ran in.
struct SessionSolvers {
  std::vector<SolverEntry> entries;
  Environment environment;
};

Result<SessionSolvers> SolversOf(Application& application, const Session& session) {
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable table, application.sessions()->Solvers(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const auto ever, application.sessions()->AllSolvers(session.id));
  SessionSolvers solvers{table.entries, session.terms.fixed};
  std::set<std::string> names;  // That any generation of the table has.
  for (const SolverEntry& entry : ever) names.insert(entry.solver.name);
  for (const SolverEntry& entry : table.entries) {
    if (entry.code != UnknownCode())
      solvers.environment.insert(entry.code.begin(), entry.code.end());
  }
  // Last resorts are in no table, and one of them may be the default that others were measured
  // against.
  std::set<SolverId> others;
  const auto add = [&](const RecordedSet& recorded) {
    for (const Record& record : recorded.records) {
      const SolverId& solver = record.trial.candidate.solver;
      if (names.contains(solver.name) || !others.insert(solver).second) continue;
      SolverEntry& entry = solvers.entries.emplace_back();
      entry.solver = solver;
      const Environment code = CodeOf(solver.name, recorded.set.environment);
      solvers.environment.insert(code.begin(), code.end());
    }
    return Status::Ok();
  };
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * records, application.StoreToRead());
  RecordQuery query;
  query.roles = {TrialRole::kFinal};
  query.finished_only = true;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(records->Visit(query, add));
  return solvers;
}

Result<RecordPlace> AbsentPlace(Application& application) {
  const Session& session = *application.session();
  const SessionTerms& terms = session.terms;
  if (!terms.target.has_value()) {
    return FailedPrecondition(fmt::format(
        "Nothing was measured in session '{0}' yet, which is for {1} of {2}, and no such device is "
        "here. 'attune tune --session {3}' measures where one is.",
        Printable(session.name), terms.arch, terms.backend, ShellWord(session.name)));
  }
  ATTUNE_ASSIGN_OR_RETURN(SessionSolvers solvers, SolversOf(application, session));
  RecordPlace absent;
  absent.owned = MakeAbsentBackend(terms.backend, solvers.entries);
  absent.place.backend = absent.owned.get();
  absent.place.target = *terms.target;
  absent.place.environment = std::move(solvers.environment);
  application.err().Print(
      fmt::format("The device of session '{}', {}, is not here: this is what the session knows.\n",
                  Printable(session.name), Text(*terms.target)));
  return absent;
}

}  // namespace

Result<RecordPlace> FindRecordPlace(Application& application, const std::string& named) {
  RecordPlace found;
  if (!named.empty() || !application.names_session()) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string device, application.DeviceOf(named));
    ATTUNE_ASSIGN_OR_RETURN(found.place, FindPlace(application.lazy_backends(), device));
    return found;
  }
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Place> here,
                          FindDeviceFor(application, application.session()->terms));
  if (!here.has_value()) return AbsentPlace(application);
  found.place = *std::move(here);
  return found;
}

Status CheckHaveNoKernels(Application& application, const std::set<std::string>& sessions,
                          const std::string& subject, const Status& nothing_compiles) {
  for (const std::string& name : sessions) {
    ATTUNE_ASSIGN_OR_RETURN(const Session session, application.sessions()->Find(name));
    ATTUNE_ASSIGN_OR_RETURN(const SolverTable table, application.sessions()->Solvers(session.id));
    bool compiles = table.generation == 0;  // Unknown.
    for (const SolverEntry& entry : table.entries) compiles = compiles || entry.compiles;
    if (!compiles) continue;
    return Unavailable(fmt::format(
        "The kernels of {} cannot be packed, because some of its solvers compile theirs. {} "
        "Choices without kernels need no device: 'attune golden export' without --with-kernels, or "
        "'attune export'.",
        subject, nothing_compiles.message()));
  }
  return Status::Ok();
}

}  // namespace attune
