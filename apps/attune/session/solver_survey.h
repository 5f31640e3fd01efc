// What the verbs of sessions share: their place, and their table of solvers.
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

// Where the solvers of a session are asked: the device itself, or, where that is not here, what
// compiles for its architecture.
struct SessionPlace {
  const Backend* backend = nullptr;
  std::unique_ptr<const Backend> owned;  // Of a place that only compiles.
  std::string device_spec;               // Empty for a place that only compiles.
  Target target;
  Environment environment;
  LibraryReport toolchain;  // Of a place that only compiles: what compiles there.

  bool has_device() const { return !device_spec.empty(); }
};

SessionPlace SessionPlaceAt(const Place& place);

// The usable device here that `terms` are for: of their kind, or of their architecture where they
// name no kind yet. Nothing if there is none.
Result<std::optional<Place>> FindDeviceFor(Application& application, const SessionTerms& terms);

// What a session is for, as text: the kind of device, or the architecture alone.
std::string SubjectOf(const SessionTerms& terms);

// " Here is cpu, which is ...": the usable devices of the same backend that are not what `terms`
// are for, as a processor with other cores; empty if there is none.
std::string OtherDevicesHere(Application& application, const SessionTerms& terms);

// kNotFound if nothing here is of the session's architecture.
Result<SessionPlace> FindSessionPlace(Application& application, const Session& session);

// The place of `target`, which `asks_for` it ("golden version '1'"). kNotFound as above.
Result<SessionPlace> FindTargetPlace(Application& application, const std::string& asks_for,
                                     const Target& target);

// What a session fixes of the environment of `backend` (FixedPart): code of solvers is what
// Backend::Libraries() does not report as somebody's library.
Environment FixedHere(const Backend& backend, const Environment& environment);

// Ok if what `toolchain` compiles is what the session's device would run: a session that fixed its
// libraries fixed the one that compiles, too. kFailedPrecondition names both versions or builds.
Status CheckToolchain(const Session& session, const LibraryReport& toolchain);

// Ok if the session can be measured at `place`. kFailedPrecondition names everything that differs.
Status CheckSessionPlace(const Session& session, const SessionPlace& place);

// Lets the session measure at `place`: binds one that was made for an architecture alone, and says
// so. Fails as CheckSessionPlace() does.
Status EnterSession(Application& application, const Session& session, const SessionPlace& place);

// The solvers of the session as they are now.
struct SolverSurvey {
  SolverTable table;
  std::vector<ProblemSolvers> problems;  // Those that were asked about, in order.
  size_t changed = 0;                    // Of them, those of which the session knew something else.
};

// Asks the solvers at `place` which of them apply to `problems`, and brings the session's tables up
// to that. Last resorts are left out.
Result<SolverSurvey> SurveySolvers(Application& application, const Session& session,
                                   const SessionPlace& place,
                                   const std::vector<TaggedProblem>& problems);

}  // namespace attune
