// Restrictions that a constraint implies on the parameters chosen first, for any values of the
// others. Private to this module.
//
// a * b * c <= 4096 with c >= 1 implies a * b <= 4096: a dead end is found at b, and products
// beyond the bound are no states. Found by the trends of a comparison: a term that rises with a
// parameter on its left side, or falls with it on its right side, is weakest at that parameter's
// minimum.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/space/expression_tree.h"

namespace attune {

// The values that a name can have, if they are numbers of one kind.
struct NameRange {
  double low = 0;
  double high = 0;
  bool is_integer = true;
};
using RangeOf = std::function<std::optional<NameRange>(std::string_view name)>;

// Constraints that read none of `later`, each true wherever `tree` is true for some values of
// `later`. Only comparisons that must hold together contribute, alone or joined by 'and'. Empty if
// nothing can be derived, or if an operation could overflow: then the overflow is reported as
// without implied constraints.
std::vector<ExpressionTree> ImpliedWithout(const std::vector<std::string>& later,
                                           const ExpressionTree& tree, const RangeOf& range_of);

}  // namespace attune
