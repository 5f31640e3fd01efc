// Maps problems to the two key columns of TunableOp's files, and back. Every writer and every
// reader of these files uses these functions.
#pragma once

#include <string>
#include <string_view>

#include "attune/formats/tunableop.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

// Problems without an operator in TunableOp have one of attune: "AttuneProblem_conv" with the
// problem text, escaped, as params.
inline constexpr std::string_view kOwnOperatorPrefix = "AttuneProblem_";

// The names of `problem`; total.
TunableOpKey NamesOf(const Problem& problem);

// The inverse of NamesOf, with usual values for everything that TunableOp's key omits. Names with a
// wildcard are an error.
Parsed<Problem> ProblemOfNames(const TunableOpKey& key);

// Returns true if the names describe all of `problem`, so that they need no problem text.
bool SaysEverything(const TunableOpKey& key, const Problem& problem);

// Returns true if params have a size that stands for many.
bool IsWildcard(std::string_view params);

// The column with the problem text of a line.
inline constexpr std::string_view kProblemColumn = "ATTUNE_PROBLEM: ";
// That column, with the comma before it.
std::string ProblemColumnOf(const Problem& problem);

// Returns true if `line` begins with an operator of TunableOp or attune.
bool IsTunableLine(std::string_view line);

// A line of an untuned file, or of a results file, without its further columns.
struct NamedProblem {
  TunableOpKey key;  // As in the line.
  Problem problem;   // From ATTUNE_PROBLEM if present, else from the key.
};
// A wildcard is an error unless ATTUNE_PROBLEM gives the problem that it was tuned for.
Parsed<NamedProblem> ReadTunableLine(std::string_view line);

}  // namespace attune
