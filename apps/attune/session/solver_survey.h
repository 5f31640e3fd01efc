// Common parts of the session verbs: their place, and their table of solvers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/session/session.h"
#include "attune/session/solver_table.h"
#include "runtime/places.h"

namespace attune {

// The place to ask a session's solvers: the device itself, or, if it is absent, the compilers for
// its architecture.
struct SessionPlace {
  const Backend* backend = nullptr;
  std::unique_ptr<const Backend> owned;  // For a place that only compiles.
  std::string device_spec;               // Empty for a place that only compiles.
  Target target;
  Environment environment;
  LibraryReport toolchain;  // For a place that only compiles: its compilers.

  bool has_device() const { return !device_spec.empty(); }
};

SessionPlace SessionPlaceAt(const Place& place);

// The usable device here that `terms` are for: of their kind, or of their architecture where they
// name no kind yet. Nothing if there is none.
Result<std::optional<Place>> FindDeviceFor(Application& application, const SessionTerms& terms);

// The subject of a session as text: the kind of device, or the architecture alone.
std::string SubjectOf(const SessionTerms& terms);

// " Here is cpu, which is ...": the usable devices of the same backend that do not match `terms`,
// such as a processor with other cores; empty if there is none.
std::string OtherDevicesHere(Application& application, const SessionTerms& terms);

// kNotFound if nothing here is of the session's architecture.
Result<SessionPlace> FindSessionPlace(Application& application, const Session& session);

// The place of `target`, which `asks_for` it ("golden version '1'"). kNotFound as above.
Result<SessionPlace> FindTargetPlace(Application& application, const std::string& asks_for,
                                     const Target& target);

// The part of the environment of `backend` that a session fixes (FixedPart). Code of solvers is
// everything that Backend::Libraries() does not report as a third-party library.
Environment FixedHere(const Backend& backend, const Environment& environment);

// Ok if code that `toolchain` compiles equals the code that the session's device would run: a
// session that fixed its libraries fixed the one that compiles, too. kFailedPrecondition names both
// versions or builds.
Status CheckToolchain(const Session& session, const LibraryReport& toolchain);

// Ok if the session can be measured at `place`. kFailedPrecondition names everything that differs.
Status CheckSessionPlace(const Session& session, const SessionPlace& place);

// Lets the session measure at `place`: binds one that was made for an architecture alone, and says
// so. Fails as CheckSessionPlace() does.
Status EnterSession(Application& application, const Session& session, const SessionPlace& place);

// The solvers of the session as they are now.
struct SolverSurvey {
  SolverTable table;
  std::vector<ProblemSolvers> problems;  // The surveyed ones, in order.
  size_t changed = 0;                    // Those that the session knew differently.
};

// Asks the solvers at `place` which of them apply to `problems`, and brings the session's tables up
// to that. Last resorts are left out.
Result<SolverSurvey> SurveySolvers(Application& application, const Session& session,
                                   const SessionPlace& place,
                                   const std::vector<TaggedProblem>& problems);

}  // namespace attune
