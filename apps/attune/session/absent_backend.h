// Stands for the backend of a device that is elsewhere.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "attune/session/solver_table.h"
#include "attune/solver/backend.h"

namespace attune {

// A backend called `name` with solvers of the names, versions and traits of `solvers`. They cannot
// be used: to apply, to build and to open are kUnavailable. So their measurements count, and
// nothing new is computed.
std::unique_ptr<const Backend> MakeAbsentBackend(std::string name,
                                                 std::span<const SolverEntry> solvers);

}  // namespace attune
