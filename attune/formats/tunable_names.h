// How attune names a problem in the two key columns of TunableOp's files, and which problem a line
// of such a file stands for. Every writer and every reader of these files uses these functions.
#pragma once

#include <string>
#include <string_view>

#include "attune/formats/tunableop.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

// Problems that TunableOp has no operator for have one of ours: "AttuneProblem_conv" with the
// problem text, escaped, as params.
inline constexpr std::string_view kOwnOperatorPrefix = "AttuneProblem_";

// The names of `problem`; total.
TunableOpKey NamesOf(const Problem& problem);

// The problem that these names read back as, with what TunableOp's key leaves out at its usual
// value. Names with a wildcard are an error.
Parsed<Problem> ProblemOfNames(const TunableOpKey& key);

// Whether the names say all of `problem`, so that they need no problem text beside them.
bool SaysEverything(const TunableOpKey& key, const Problem& problem);

// Whether params have a size that stands for many.
bool IsWildcard(std::string_view params);

// The column of a line that has the text of its problem.
inline constexpr std::string_view kProblemColumn = "ATTUNE_PROBLEM: ";
// That column, with the comma before it.
std::string ProblemColumnOf(const Problem& problem);

// Whether `line` begins with an operator of TunableOp or of ours.
bool IsTunableLine(std::string_view line);

// A line of an untuned file, or of a results file, whose further columns do not matter.
struct NamedProblem {
  TunableOpKey key;  // As the line has it.
  Problem problem;   // That of ATTUNE_PROBLEM where there is one, else that of the key.
};
// A wildcard is an error unless ATTUNE_PROBLEM says which problem it was tuned for.
Parsed<NamedProblem> ReadTunableLine(std::string_view line);

}  // namespace attune
