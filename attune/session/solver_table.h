// The solvers as a session knows them: who there was, under which version and with which code, so
// that what rests on one that has changed since is told.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/trial/candidate.h"

namespace attune {

struct SolverEntry {
  int64_t id = 0;  // Given by the store; 0 before.
  SolverId solver;
  std::string operator_name;  // "gemm"
  bool dynamic = false;       // One build serves every size.
  bool tunable = false;       // Has more than one config for some problem that was asked about.
  bool compiles = false;
  // Fields "library.*" of the environment that are of code which it runs, or UnknownCode().
  Environment code;

  // Whether results of both are worth the same: everything but the id.
  bool SameAs(const SolverEntry& other) const;
};

// One state of the table. Every change makes a new generation, and older ones are kept.
struct SolverTable {
  int64_t generation = 0;            // From 1 on; 0 for a table that was never made.
  std::vector<SolverEntry> entries;  // In the order of the list of solvers, best guess first.
};

const SolverEntry* FindEntry(const SolverTable& table, std::string_view name);

// The code of a solver where nobody can tell it, because its device is elsewhere. It differs from
// nothing.
Environment UnknownCode();

// Why what was made with `then` is stale where the solver is `now` (null: gone), a sentence; empty
// if it is not.
std::string ReasonStale(const SolverEntry& then, const SolverEntry* now);

// The same of what `solver` made while its code was `code`, by the newest table of a session. A
// table that was never made says nothing against anybody.
std::string ReasonStale(const SolverTable& table, const SolverId& solver, Environment code);

// The fields of `environment` that are of code which the solver called `name` runs (RunsLibrary).
Environment CodeOf(std::string_view name, const Environment& environment);

// Which solvers apply to a problem.
struct ProblemSolvers {
  Problem problem;
  std::vector<std::string> solvers;  // Names, in the order of the list.

  friend bool operator==(const ProblemSolvers&, const ProblemSolvers&) = default;
};

}  // namespace attune
