#include "attune/space/column_program.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace attune {
namespace {

CellKind KindOf(const ParameterValue& value) {
  if (std::holds_alternative<int64_t>(value)) return CellKind::kInteger;
  return std::holds_alternative<double>(value) ? CellKind::kReal : CellKind::kText;
}

ColumnOp ArithmeticOp(ExpressionOp op, ExpressionDialect dialect) {
  switch (op) {
    case ExpressionOp::kAdd:
      return ColumnOp::kAdd;
    case ExpressionOp::kSubtract:
      return ColumnOp::kSubtract;
    case ExpressionOp::kMultiply:
      return ColumnOp::kMultiply;
    case ExpressionOp::kDivide:
      return ColumnOp::kDivide;
    case ExpressionOp::kFloorDivide:
      return ColumnOp::kFloorDivide;
    case ExpressionOp::kModulo:
      return dialect == ExpressionDialect::kC ? ColumnOp::kModulo : ColumnOp::kFloorModulo;
    case ExpressionOp::kMin:
      return ColumnOp::kMin;
    case ExpressionOp::kMax:
      return ColumnOp::kMax;
    case ExpressionOp::kCeilDivide:
      return ColumnOp::kCeilDivide;
    case ExpressionOp::kShiftLeft:
      return ColumnOp::kShiftLeft;
    case ExpressionOp::kShiftRight:
      return ColumnOp::kShiftRight;
    case ExpressionOp::kBitAnd:
      return ColumnOp::kBitAnd;
    case ExpressionOp::kBitXor:
      return ColumnOp::kBitXor;
    case ExpressionOp::kBitOr:
      return ColumnOp::kBitOr;
    default:
      return ColumnOp::kGcd;
  }
}

}  // namespace

// Compiles one expression. A method returns nothing where the expression cannot be columns.
class ColumnCompiler {
 public:
  ColumnCompiler(ColumnProgram& program, const ExpressionTree& tree, ExpressionDialect dialect,
                 const ColumnProgram::Meaning& meaning)
      : program_(program), tree_(tree), dialect_(dialect), meaning_(meaning) {}

  std::optional<ColumnId> Truth(NodeIndex index) {
    const ExpressionNode& node = tree_.nodes[index];
    if (node.op == ExpressionOp::kAnd || node.op == ExpressionOp::kOr) return Logical(node);
    const std::optional<ColumnId> value = Value(index);
    if (!value.has_value() || KindAt(*value) == CellKind::kText) return std::nullopt;
    const ColumnOp op = program_.columns_[*value].op;
    if (op >= ColumnOp::kLess && op <= ColumnOp::kOr) return value;
    return Compare(ExpressionOp::kNotEqual, *value, Constant(int64_t{0}));
  }

 private:
  using Op = ExpressionOp;
  using Columns = std::vector<ColumnId>;

  std::optional<ColumnId> Value(NodeIndex index) {
    const ExpressionNode& node = tree_.nodes[index];
    switch (node.op) {
      case Op::kInteger:
        return Constant(node.integer);
      case Op::kReal:
        return Constant(node.real);
      case Op::kString:
        return Constant(node.text);
      case Op::kName:
        return Named(node);
      case Op::kAnd:
      case Op::kOr:
        return dialect_ == ExpressionDialect::kC ? Logical(node) : Deciding(node);
      case Op::kConditional:
        return Conditional(node);
      case Op::kNot: {
        const auto truth = Truth(node.children[0]);
        if (!truth.has_value()) return std::nullopt;
        return Operation(ColumnOp::kNot, CellKind::kInteger, {*truth});
      }
      default:
        return OfValues(node);
    }
  }

  CellKind KindAt(ColumnId id) const { return program_.columns_[id].kind; }

  ColumnId Constant(const ParameterValue& value) {
    Column column;
    column.kind = KindOf(value);
    column.constant = program_.CellOf(value);
    return program_.Add(column);
  }

  // Adds an operation with operands and a result of one kind, unless `result` says otherwise.
  ColumnId Operation(ColumnOp op, CellKind result, const Columns& operands) {
    Column column;
    column.op = op;
    column.kind = result;
    column.operands = KindAt(operands.back());
    column.arity = operands.size();
    column.a = operands[0];
    if (operands.size() > 1) column.b = operands[1];
    if (operands.size() > 2) column.c = operands[2];
    for (const ColumnId id : operands) {
      column.level = std::max(column.level, program_.columns_[id].level);
    }
    for (const ColumnId id : operands) {
      const Column& operand = program_.columns_[id];
      column.own_level_only = column.own_level_only && operand.own_level_only &&
                              (operand.level == kKnownLevel || operand.level == column.level);
    }
    return program_.Add(column);
  }

  ColumnId ToReal(ColumnId id) {
    if (KindAt(id) == CellKind::kReal) return id;
    return Operation(ColumnOp::kToReal, CellKind::kReal, {id});
  }

  std::optional<ColumnId> Named(const ExpressionNode& node) {
    const NameMeaning meaning = meaning_(node.text);
    if (meaning.values == nullptr) return Constant(*meaning.constant);
    Column column;
    column.op = ColumnOp::kParameter;
    column.kind = KindOf(meaning.values->front());
    column.level = meaning.level;
    for (const ParameterValue& value : *meaning.values) {
      if (KindOf(value) != column.kind) return std::nullopt;
    }
    return program_.Add(column);
  }

  std::optional<ColumnId> Logical(const ExpressionNode& node) {
    const auto left = Truth(node.children[0]);
    const auto right = Truth(node.children[1]);
    if (!left.has_value() || !right.has_value()) return std::nullopt;
    return Operation(node.op == Op::kAnd ? ColumnOp::kAnd : ColumnOp::kOr, CellKind::kInteger,
                     {*left, *right});
  }

  // The operand that decides, as in Python.
  std::optional<ColumnId> Deciding(const ExpressionNode& node) {
    const auto truth = Truth(node.children[0]);
    const auto left = Value(node.children[0]);
    const auto right = Value(node.children[1]);
    if (!truth.has_value() || !left.has_value() || !right.has_value() ||
        KindAt(*left) != KindAt(*right)) {
      return std::nullopt;
    }
    const bool is_or = node.op == Op::kOr;
    return Operation(ColumnOp::kSelect, KindAt(*left),
                     {*truth, is_or ? *left : *right, is_or ? *right : *left});
  }

  std::optional<ColumnId> Conditional(const ExpressionNode& node) {
    const auto condition = Truth(node.children[0]);
    const auto then = Value(node.children[1]);
    const auto otherwise = Value(node.children[2]);
    if (!condition.has_value() || !then.has_value() || !otherwise.has_value() ||
        KindAt(*then) != KindAt(*otherwise)) {
      return std::nullopt;
    }
    return Operation(ColumnOp::kSelect, KindAt(*then), {*condition, *then, *otherwise});
  }

  // Operations that evaluate all their operands.
  std::optional<ColumnId> OfValues(const ExpressionNode& node) {
    Columns operands;
    for (const NodeIndex child : node.children) {
      const auto operand = Value(child);
      if (!operand.has_value()) return std::nullopt;
      operands.push_back(*operand);
    }
    if (node.op == Op::kIn) return Membership(operands);
    if (node.op == Op::kChain) return Chain(node, operands);
    if (node.op == Op::kNegate || node.op == Op::kAbs) {
      if (KindAt(operands[0]) == CellKind::kText) return std::nullopt;
      return Operation(node.op == Op::kNegate ? ColumnOp::kNegate : ColumnOp::kAbs,
                       KindAt(operands[0]), operands);
    }
    if (node.op == Op::kBitNot || node.op == Op::kTruncate) {
      if (KindAt(operands[0]) != CellKind::kInteger) return std::nullopt;
      if (node.op == Op::kTruncate) return operands[0];
      return Operation(ColumnOp::kBitNot, CellKind::kInteger, operands);
    }
    if (node.op >= Op::kLess && node.op <= Op::kNotEqual) {
      return Compare(node.op, operands[0], operands[1]);
    }
    std::optional<ColumnId> folded = operands[0];
    for (size_t i = 1; i < operands.size() && folded.has_value(); ++i) {
      folded = Arithmetic(node.op, *folded, operands[i]);
    }
    return folded;
  }

  std::optional<ColumnId> Membership(const Columns& operands) {
    std::optional<ColumnId> found;
    for (size_t i = 1; i < operands.size(); ++i) {
      const auto equal = Compare(Op::kEqual, operands[0], operands[i]);
      if (!equal.has_value()) return std::nullopt;
      found = found.has_value() ? Operation(ColumnOp::kOr, CellKind::kInteger, {*found, *equal})
                                : equal;
    }
    return found;
  }

  std::optional<ColumnId> Chain(const ExpressionNode& node, const Columns& operands) {
    std::optional<ColumnId> all;
    for (size_t i = 0; i < node.links.size(); ++i) {
      const auto link = Compare(node.links[i], operands[i], operands[i + 1]);
      if (!link.has_value()) return std::nullopt;
      all = all.has_value() ? Operation(ColumnOp::kAnd, CellKind::kInteger, {*all, *link}) : link;
    }
    return all;
  }

  std::optional<ColumnId> Compare(ExpressionOp op, ColumnId a, ColumnId b) {
    if ((KindAt(a) == CellKind::kText) != (KindAt(b) == CellKind::kText)) return std::nullopt;
    if (KindAt(a) != KindAt(b)) {
      a = ToReal(a);
      b = ToReal(b);
    }
    switch (op) {
      case Op::kLess:
        return Operation(ColumnOp::kLess, CellKind::kInteger, {a, b});
      case Op::kLessEqual:
        return Operation(ColumnOp::kLessEqual, CellKind::kInteger, {a, b});
      case Op::kGreater:
        return Operation(ColumnOp::kLess, CellKind::kInteger, {b, a});
      case Op::kGreaterEqual:
        return Operation(ColumnOp::kLessEqual, CellKind::kInteger, {b, a});
      case Op::kEqual:
        return Operation(ColumnOp::kEqual, CellKind::kInteger, {a, b});
      default:
        return Operation(ColumnOp::kNotEqual, CellKind::kInteger, {a, b});
    }
  }

  std::optional<ColumnId> Arithmetic(ExpressionOp op, ColumnId a, ColumnId b) {
    if (KindAt(a) == CellKind::kText || KindAt(b) == CellKind::kText) return std::nullopt;
    const bool mixed = KindAt(a) != KindAt(b);
    // The kind of the result would depend on the values.
    if (op == Op::kPower || (mixed && (op == Op::kMin || op == Op::kMax))) return std::nullopt;
    const bool true_division = op == Op::kDivide && dialect_ == ExpressionDialect::kPython;
    if (mixed || true_division) {
      a = ToReal(a);
      b = ToReal(b);
    }
    const bool integers_only =
        op == Op::kCeilDivide || op == Op::kGcd || (op >= Op::kShiftLeft && op <= Op::kBitOr);
    if (integers_only && KindAt(a) == CellKind::kReal) return std::nullopt;
    return Operation(ArithmeticOp(op, dialect_), KindAt(a), {a, b});
  }

  ColumnProgram& program_;
  const ExpressionTree& tree_;
  ExpressionDialect dialect_;
  const ColumnProgram::Meaning& meaning_;
};

ColumnProgram::ColumnProgram(std::vector<std::string> texts) : texts_(std::move(texts)) {
  std::sort(texts_.begin(), texts_.end());
}

std::optional<ColumnId> ColumnProgram::AddTruth(const ExpressionTree& tree,
                                                ExpressionDialect dialect, const Meaning& meaning) {
  return ColumnCompiler(*this, tree, dialect, meaning).Truth(tree.root);
}

ColumnId ColumnProgram::AddPosition(int level) {
  Column column;
  column.op = ColumnOp::kPosition;
  column.level = level;
  return Add(column);
}

std::vector<Cell> ColumnProgram::CellsOf(const std::vector<ParameterValue>& values) const {
  std::vector<Cell> cells;
  for (const ParameterValue& value : values) cells.push_back(CellOf(value));
  return cells;
}

ColumnId ColumnProgram::Add(Column column) {
  const Identity identity = {column.op,
                             column.kind,
                             column.level,
                             column.a,
                             column.b,
                             column.c,
                             std::bit_cast<uint64_t>(column.constant)};
  const auto [known, is_new] = known_.emplace(identity, static_cast<ColumnId>(columns_.size()));
  if (is_new) columns_.push_back(column);
  return known->second;
}

Cell ColumnProgram::CellOf(const ParameterValue& value) const {
  Cell cell;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    cell.integer = *integer;
  } else if (const auto* real = std::get_if<double>(&value)) {
    cell.real = *real;
  } else {
    const auto& text = std::get<std::string>(value);
    const auto place = std::lower_bound(texts_.begin(), texts_.end(), text);
    cell.integer = place - texts_.begin();
  }
  return cell;
}

}  // namespace attune
