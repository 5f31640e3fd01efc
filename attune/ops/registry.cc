#include "attune/ops/registry.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attune/problem/problem.h"

namespace attune {

#define ATTUNE_OPERATOR(NAME) const Operator& NAME##Operator();
#include "attune/ops/operators.inc"
#undef ATTUNE_OPERATOR

std::span<const Operator* const> Operators() {
  static const std::array operators = {
#define ATTUNE_OPERATOR(NAME) &NAME##Operator(),
#include "attune/ops/operators.inc"
#undef ATTUNE_OPERATOR
  };
  return operators;
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const Operator* op : Operators()) names.emplace_back(op->name());
  return names;
}

const Operator* FindOperator(std::string_view name) {
  const auto operators = Operators();
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const Operator* op) { return op->name() == name; });
  return found == operators.end() ? nullptr : *found;
}

std::vector<Problem> EverydayProblems() {
  std::vector<Problem> problems;
  for (const Operator* op : Operators()) {
    for (Problem& problem : op->EverydayProblems()) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace attune
