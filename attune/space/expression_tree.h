// The tree that an Expression is made of. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/expression.h"

namespace attune {

enum class ExpressionOp {
  kInteger,
  kReal,
  kString,
  kName,
  kNegate,
  kNot,
  kBitNot,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kAdd,
  kSubtract,
  kPower,
  kShiftLeft,
  kShiftRight,
  kBitAnd,
  kBitXor,
  kBitOr,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kChain,  // a < b < c: one link fewer than children.
  kIn,     // First child: the value to find; the others: the list.
  kAnd,
  kOr,
  kConditional,  // Condition, then, else.
  kMin,
  kMax,
  kAbs,
  kTruncate,  // int(x).
  kCeilDivide,
  kGcd,
};

using NodeIndex = uint32_t;

struct ExpressionNode {
  ExpressionOp op = ExpressionOp::kInteger;
  size_t column = 1;
  int depth = 1;  // Longest path to a leaf.
  std::vector<NodeIndex> children;
  std::vector<ExpressionOp> links;  // Comparisons of a kChain.
  int64_t integer = 0;
  double real = 0;
  std::string text;  // A string literal or a name.
};

// Children stand before their parents; a node may have two parents (the middle of a chained
// comparison).
struct ExpressionTree {
  std::vector<ExpressionNode> nodes;
  NodeIndex root = 0;
};

Result<ExpressionTree> ParseExpression(std::string_view text, ExpressionDialect dialect);

}  // namespace attune
