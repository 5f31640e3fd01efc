#include "attune/ops/registry.h"

#include <algorithm>
#include <array>

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

const Operator* FindOperator(std::string_view name) {
  const auto operators = Operators();
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const Operator* op) { return op->name() == name; });
  return found == operators.end() ? nullptr : *found;
}

}  // namespace attune
