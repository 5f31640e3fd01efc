// The solvers of a session, each with its version and code, so that results of a solver that has
// changed since are recognised as stale.
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
  // Fields "library.*" of the environment for code that it runs, or UnknownCode().
  Environment code;

  // True if results of both are equally valid: all fields but the id are equal.
  bool SameAs(const SolverEntry& other) const;
};

// One state of the table. Every change makes a new generation, and older ones are kept.
struct SolverTable {
  int64_t generation = 0;            // From 1 on; 0 for a table that was never made.
  std::vector<SolverEntry> entries;  // In the order of the list of solvers, best guess first.
};

const SolverEntry* FindEntry(const SolverTable& table, std::string_view name);

// The code of a solver on another machine's device, which is unknown. It equals any code.
Environment UnknownCode();

// Why results of `then` are stale if the solver is `now` (null: gone), a sentence; empty if they
// are not.
std::string ReasonStale(const SolverEntry& then, const SolverEntry* now);

// The same for results of `solver` with the code `code`, by the newest table of a session. A table
// that was never made makes nothing stale.
std::string ReasonStale(const SolverTable& table, const SolverId& solver, Environment code);

// The fields of `environment` for code that the solver called `name` runs (RunsLibrary).
Environment CodeOf(std::string_view name, const Environment& environment);

// Solvers that apply to a problem.
struct ProblemSolvers {
  Problem problem;
  std::vector<std::string> solvers;  // Names, in the order of the list.

  friend bool operator==(const ProblemSolvers&, const ProblemSolvers&) = default;
};

}  // namespace attune
