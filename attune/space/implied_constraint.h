// What a constraint says of the parameters that are chosen first, whatever the others will be.
// Private to this module.
//
// a * b * c <= 4096 with c from 1 on says a * b <= 4096: a dead end is seen at b, and products
// beyond the bound are no states. Found by the trends of a comparison: what rises with a parameter
// on its left side, or falls on its right side, is weakest at that parameter's least value.
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
// `later`. Of comparisons that hold all at once, alone or joined by 'and'; none where that cannot
// be told, or where an operation could overflow: whether it does is then said as without them.
std::vector<ExpressionTree> ImpliedWithout(const std::vector<std::string>& later,
                                           const ExpressionTree& tree, const RangeOf& range_of);

}  // namespace attune
