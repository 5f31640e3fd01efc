// A choice that somebody wrote down and that nothing overrules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune {

// Entries separated by ';', each `[PROBLEM -> ] CANDIDATE`. PROBLEM is a canonical text or an
// operator ("gemm"); without it the entry is for the operator of its solver. CANDIDATE is a
// canonical text, or a solver's name alone for its default parameters: "host.blis-gemm". An entry
// for a problem goes before one for its operator, and among equals the first. The alignment of
// PROBLEM does not count, because programs do not choose where their operands lie.
class ForcedChoices {
 public:
  ForcedChoices() = default;

  // Fails closed: a mistake in `text`, or a solver that is not in `solvers`, is an error that names
  // the entry, never an entry that is passed over.
  static Result<ForcedChoices> Parse(std::string_view text, const SolverList& solvers);

  struct Entry {
    std::string operator_name;
    std::optional<Problem> problem;  // Nothing: every problem of the operator.
    const Solver* solver = nullptr;
    std::optional<Config> config;  // Nothing: the default of the problem.
  };
  // The entry that decides about `problem`, or null.
  const Entry* Find(const Problem& problem) const;
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace attune
