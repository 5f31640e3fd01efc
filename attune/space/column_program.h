// Constraints as operations on columns: one cell for each value of a parameter. Private to this
// module.
//
// The parameters of a group are chosen one after the other; the place of a parameter in that order
// is its level. A column belongs to the last level that it reads. So an operation that reads
// earlier levels only has one cell once those are chosen, and equal cells can stand for the many
// choices behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "attune/space/expression_tree.h"
#include "attune/space/value.h"

namespace attune {

enum class CellKind : uint8_t { kInteger, kReal, kText };

// Texts are the ranks of their order among all texts of the group.
union Cell {
  int64_t integer = 0;
  double real;
};

enum class ColumnOp : uint8_t {
  kConstant,
  kParameter,  // The values of the parameter at `level`.
  kPosition,   // The positions of these values, for constraints that are no columns.
  kToReal,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,  // On integers it truncates.
  kModulo,  // The sign of the left side.
  kFloorDivide,
  kFloorModulo,  // The sign of the right side.
  kCeilDivide,
  kGcd,
  kShiftLeft,
  kShiftRight,
  kBitAnd,
  kBitXor,
  kBitOr,
  kNegate,
  kAbs,
  kBitNot,
  kMin,
  kMax,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kNot,
  kAnd,  // On truths, 0 or 1, as the next ones.
  kOr,
  kSelect,  // a ? b : c.
};

using ColumnId = uint32_t;
constexpr int kKnownLevel = -1;  // Constants are known before any choice.

struct Column {
  ColumnOp op = ColumnOp::kConstant;
  CellKind kind = CellKind::kInteger;  // Kind of its cells.
  CellKind operands = CellKind::kInteger;
  int level = kKnownLevel;
  bool own_level_only = true;  // Reads no other level than its own.
  size_t arity = 0;
  ColumnId a = 0;
  ColumnId b = 0;
  ColumnId c = 0;
  Cell constant;
};

// Meaning of a name in a constraint.
struct NameMeaning {
  int level = kKnownLevel;
  const std::vector<ParameterValue>* values = nullptr;  // Values of the parameter at `level`.
  const ParameterValue* constant = nullptr;             // Set if there are no values.
};

class ColumnProgram {
 public:
  using Meaning = std::function<NameMeaning(std::string_view name)>;

  // `texts` has every text that values and constants of the group can be.
  explicit ColumnProgram(std::vector<std::string> texts);

  // Adds a column of 0 and 1 that is 1 where `tree` is true, and fails where `tree` cannot be
  // evaluated. Empty if kinds are wrong or differ from value to value: then the caller evaluates
  // the tree instead.
  std::optional<ColumnId> AddTruth(const ExpressionTree& tree, ExpressionDialect dialect,
                                   const Meaning& meaning);
  ColumnId AddPosition(int level);

  const std::vector<Column>& columns() const { return columns_; }
  // The cells of the parameter `values`. REQUIRES: all have one kind.
  std::vector<Cell> CellsOf(const std::vector<ParameterValue>& values) const;

 private:
  friend class ColumnCompiler;
  // The same operation on the same columns is one column.
  using Identity = std::tuple<ColumnOp, CellKind, int, ColumnId, ColumnId, ColumnId, uint64_t>;

  ColumnId Add(Column column);
  Cell CellOf(const ParameterValue& value) const;

  std::vector<std::string> texts_;  // Ascending.
  std::vector<Column> columns_;
  std::map<Identity, ColumnId> known_;
};

}  // namespace attune
