#include "attune/space/expression.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <compare>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "attune/space/expression_tree.h"

namespace attune {
namespace {

// A value while it is computed: strings are borrowed from the tree or from the caller's values.
using Operand = std::variant<int64_t, double, std::string_view>;

enum class EvaluationError {
  kNone,
  kDivisionByZero,
  kOverflow,
  kShift,
  kNotReal,
  kKind,
  kUnknownName
};

bool IsInteger(const Operand& operand) { return std::holds_alternative<int64_t>(operand); }
bool IsString(const Operand& operand) { return std::holds_alternative<std::string_view>(operand); }
double ToReal(const Operand& operand) {
  if (const auto* integer = std::get_if<int64_t>(&operand)) return static_cast<double>(*integer);
  return std::get<double>(operand);
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

// Walks the tree once. An error stops it; its place and reason are kept for the message.
class Evaluator {
 public:
  Evaluator(const ExpressionTree& tree, ExpressionDialect dialect, const Expression::Lookup& lookup)
      : tree_(tree), dialect_(dialect), lookup_(lookup) {}

  Operand Run() { return Evaluate(tree_.root); }

  EvaluationError error() const { return error_; }
  const ExpressionNode& culprit() const { return *culprit_; }

 private:
  using Op = ExpressionOp;

  Operand Fail(EvaluationError error, const ExpressionNode& node) {
    if (error_ == EvaluationError::kNone) {
      error_ = error;
      culprit_ = &node;
    }
    return int64_t{0};
  }

  bool failed() const { return error_ != EvaluationError::kNone; }

  Operand Evaluate(NodeIndex index) {
    const ExpressionNode& node = tree_.nodes[index];
    switch (node.op) {
      case Op::kInteger:
        return node.integer;
      case Op::kReal:
        return node.real;
      case Op::kString:
        return std::string_view(node.text);
      case Op::kName:
        return Named(node);
      case Op::kAnd:
      case Op::kOr:
        return Logical(node);
      case Op::kConditional:
        return Evaluate(node.children[Truth(node.children[0]) ? 1 : 2]);
      case Op::kNot:
        return int64_t{Truth(node.children[0]) ? 0 : 1};
      case Op::kIn:
        return Membership(node);
      case Op::kChain:
        return Chain(node);
      case Op::kNegate:
      case Op::kAbs:
        return Signed(node);
      case Op::kBitNot:
      case Op::kTruncate:
        return ToInteger(node);
      default:
        return Folded(node);
    }
  }

  Operand Named(const ExpressionNode& node) {
    const ParameterValue* const value = lookup_(node.text);
    if (value == nullptr) return Fail(EvaluationError::kUnknownName, node);
    if (const auto* integer = std::get_if<int64_t>(value)) return *integer;
    if (const auto* real = std::get_if<double>(value)) return *real;
    return std::string_view(std::get<std::string>(*value));
  }

  bool Truth(NodeIndex index) { return Truth(Evaluate(index), tree_.nodes[index]); }

  bool Truth(const Operand& value, const ExpressionNode& node) {
    if (IsString(value)) {
      Fail(EvaluationError::kKind, node);
      return false;
    }
    return IsInteger(value) ? std::get<int64_t>(value) != 0 : std::get<double>(value) != 0;
  }

  // In Python the operand that decides.
  Operand Logical(const ExpressionNode& node) {
    const bool python = dialect_ == ExpressionDialect::kPython;
    const Operand left = Evaluate(node.children[0]);
    const bool truth = Truth(left, tree_.nodes[node.children[0]]);
    if (failed() || truth == (node.op == Op::kOr)) return python ? left : int64_t{truth};
    if (python) return Evaluate(node.children[1]);
    return int64_t{Truth(node.children[1])};
  }

  Operand Membership(const ExpressionNode& node) {
    const Operand wanted = Evaluate(node.children[0]);
    for (size_t i = 1; i < node.children.size() && !failed(); ++i) {
      const Operand item = Evaluate(node.children[i]);
      if (IsString(item) != IsString(wanted)) return Fail(EvaluationError::kKind, node);
      if (Order(wanted, item) == std::partial_ordering::equivalent) return int64_t{1};
    }
    return int64_t{0};
  }

  Operand Chain(const ExpressionNode& node) {
    Operand left = Evaluate(node.children[0]);
    for (size_t i = 0; i < node.links.size() && !failed(); ++i) {
      const Operand right = Evaluate(node.children[i + 1]);
      if (IsString(left) != IsString(right)) return Fail(EvaluationError::kKind, node);
      if (!Holds(node.links[i], Order(left, right))) return int64_t{0};
      left = right;
    }
    return int64_t{1};
  }

  Operand Signed(const ExpressionNode& node) {
    const Operand value = Evaluate(node.children[0]);
    if (IsString(value)) return Fail(EvaluationError::kKind, node);
    if (!IsInteger(value)) {
      const double real = std::get<double>(value);
      return node.op == Op::kNegate ? -real : std::fabs(real);
    }
    const int64_t integer = std::get<int64_t>(value);
    if (node.op == Op::kAbs && integer >= 0) return integer;
    if (integer == std::numeric_limits<int64_t>::min()) {
      return Fail(EvaluationError::kOverflow, node);
    }
    return -integer;
  }

  Operand ToInteger(const ExpressionNode& node) {
    const Operand value = Evaluate(node.children[0]);
    if (IsInteger(value)) {
      const int64_t integer = std::get<int64_t>(value);
      return node.op == Op::kBitNot ? ~integer : integer;
    }
    if (IsString(value) || node.op == Op::kBitNot) return Fail(EvaluationError::kKind, node);
    const double whole = std::trunc(std::get<double>(value));
    if (!(whole >= -0x1p63 && whole < 0x1p63)) return Fail(EvaluationError::kOverflow, node);
    return static_cast<int64_t>(whole);
  }

  // Operators of two operands, and functions that fold their arguments from left to right.
  Operand Folded(const ExpressionNode& node) {
    Operand result = Evaluate(node.children[0]);
    for (size_t i = 1; i < node.children.size() && !failed(); ++i) {
      const Operand right = Evaluate(node.children[i]);
      if (failed()) break;
      result = Combine(node, result, right);
    }
    return result;
  }

  static std::partial_ordering Order(const Operand& a, const Operand& b) {
    if (IsString(a)) return std::get<std::string_view>(a) <=> std::get<std::string_view>(b);
    if (IsInteger(a) && IsInteger(b)) return std::get<int64_t>(a) <=> std::get<int64_t>(b);
    return ToReal(a) <=> ToReal(b);
  }

  Operand Combine(const ExpressionNode& node, const Operand& a, const Operand& b) {
    const bool comparison = node.op >= Op::kLess && node.op <= Op::kNotEqual;
    if (IsString(a) != IsString(b) || (IsString(a) && !comparison)) {
      return Fail(EvaluationError::kKind, node);
    }
    if (comparison) return int64_t{Holds(node.op, Order(a, b))};
    if (node.op == Op::kMin) return Order(b, a) < 0 ? b : a;
    if (node.op == Op::kMax) return Order(b, a) > 0 ? b : a;
    if (!IsInteger(a) || !IsInteger(b)) return CombineReals(node, ToReal(a), ToReal(b));
    return CombineIntegers(node, std::get<int64_t>(a), std::get<int64_t>(b));
  }

  static bool Holds(Op op, std::partial_ordering order) {
    switch (op) {
      case Op::kLess:
        return order < 0;
      case Op::kLessEqual:
        return order <= 0;
      case Op::kGreater:
        return order > 0;
      case Op::kGreaterEqual:
        return order >= 0;
      case Op::kEqual:
        return order == 0;
      default:
        return order != 0;
    }
  }

  Operand CombineIntegers(const ExpressionNode& node, int64_t a, int64_t b) {
    int64_t result = 0;
    switch (node.op) {
      case Op::kAdd:
        if (__builtin_add_overflow(a, b, &result)) return Fail(EvaluationError::kOverflow, node);
        return result;
      case Op::kSubtract:
        if (__builtin_sub_overflow(a, b, &result)) return Fail(EvaluationError::kOverflow, node);
        return result;
      case Op::kMultiply:
        if (__builtin_mul_overflow(a, b, &result)) return Fail(EvaluationError::kOverflow, node);
        return result;
      case Op::kGcd:
        return Gcd(node, a, b);
      case Op::kPower:
        return Power(node, a, b);
      case Op::kShiftLeft:
      case Op::kShiftRight:
        return Shift(node, a, b);
      case Op::kBitAnd:
        return a & b;
      case Op::kBitXor:
        return a ^ b;
      case Op::kBitOr:
        return a | b;
      default:
        return DivideIntegers(node, a, b);
    }
  }

  Operand Shift(const ExpressionNode& node, int64_t a, int64_t bits) {
    if (bits < 0 || bits > 63) return Fail(EvaluationError::kShift, node);
    if (node.op == Op::kShiftRight) return a >> bits;
    const int64_t shifted = a << bits;
    if (shifted >> bits != a) return Fail(EvaluationError::kOverflow, node);
    return shifted;
  }

  // A negative exponent gives a real.
  Operand Power(const ExpressionNode& node, int64_t base, int64_t exponent) {
    if (exponent < 0) {
      return CombineReals(node, static_cast<double>(base), static_cast<double>(exponent));
    }
    int64_t result = 1;
    while (exponent > 0) {
      if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) {
        return Fail(EvaluationError::kOverflow, node);
      }
      exponent /= 2;
      if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) {
        return Fail(EvaluationError::kOverflow, node);
      }
    }
    return result;
  }

  Operand Gcd(const ExpressionNode& node, int64_t a, int64_t b) {
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    if (a == kMin || b == kMin) return Fail(EvaluationError::kOverflow, node);
    return std::gcd(a, b);
  }

  Operand DivideIntegers(const ExpressionNode& node, int64_t a, int64_t b) {
    const bool python = dialect_ == ExpressionDialect::kPython;
    if (b == 0) return Fail(EvaluationError::kDivisionByZero, node);
    if (python && node.op == Op::kDivide) return static_cast<double>(a) / static_cast<double>(b);
    if (a == std::numeric_limits<int64_t>::min() && b == -1) {
      return Fail(EvaluationError::kOverflow, node);
    }
    switch (node.op) {
      case Op::kDivide:
        return a / b;
      case Op::kModulo:
        return python && a % b != 0 && ((a < 0) != (b < 0)) ? a % b + b : a % b;
      case Op::kFloorDivide:
        return FloorDivide(a, b);
      default:
        return a % b != 0 && ((a < 0) == (b < 0)) ? a / b + 1 : a / b;  // kCeilDivide.
    }
  }

  Operand CombineReals(const ExpressionNode& node, double a, double b) {
    const bool divides =
        node.op == Op::kDivide || node.op == Op::kFloorDivide || node.op == Op::kModulo;
    if (divides && b == 0) return Fail(EvaluationError::kDivisionByZero, node);
    double result = 0;
    switch (node.op) {
      case Op::kAdd:
        result = a + b;
        break;
      case Op::kSubtract:
        result = a - b;
        break;
      case Op::kMultiply:
        result = a * b;
        break;
      case Op::kDivide:
        result = a / b;
        break;
      case Op::kFloorDivide:
        result = std::floor(a / b);
        break;
      case Op::kModulo:
        result = RealModulo(a, b);
        break;
      case Op::kPower:
        if (a == 0 && b < 0) return Fail(EvaluationError::kDivisionByZero, node);
        if (a < 0 && b != std::trunc(b)) return Fail(EvaluationError::kNotReal, node);
        result = std::pow(a, b);
        break;
      default:
        // ceil_div, gcd, shifts and bits are for integers.
        return Fail(EvaluationError::kKind, node);
    }
    if (!std::isfinite(result)) return Fail(EvaluationError::kOverflow, node);
    return result;
  }

  double RealModulo(double a, double b) const {
    const double remainder = std::fmod(a, b);
    const bool wrong_sign = remainder != 0 && (remainder < 0) != (b < 0);
    return dialect_ == ExpressionDialect::kPython && wrong_sign ? remainder + b : remainder;
  }

  const ExpressionTree& tree_;
  ExpressionDialect dialect_;
  const Expression::Lookup& lookup_;
  EvaluationError error_ = EvaluationError::kNone;
  const ExpressionNode* culprit_ = nullptr;
};

std::string ReasonOf(EvaluationError error, const ExpressionNode& node) {
  switch (error) {
    case EvaluationError::kDivisionByZero:
      return "division by zero";
    case EvaluationError::kOverflow:
      return "the result does not fit";
    case EvaluationError::kShift:
      return "a shift is by 0 to 63 bits";
    case EvaluationError::kNotReal:
      return "a root of a negative number is no real number";
    case EvaluationError::kKind:
      return "the operands are of the wrong kind (a string and a number, a string where a number "
             "is needed, or a real where an integer is)";
    default:
      return fmt::format("'{}' is not known", node.text);
  }
}

std::vector<std::string> NamesOf(const ExpressionTree& tree) {
  std::set<std::string> names;
  for (const ExpressionNode& node : tree.nodes) {
    if (node.op == ExpressionOp::kName) names.insert(node.text);
  }
  return {names.begin(), names.end()};
}

}  // namespace

struct Expression::Parsed {
  std::string text;
  ExpressionDialect dialect;
  ExpressionTree tree;
  std::vector<std::string> names;
};

Expression::Expression(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

Result<Expression> Expression::Parse(std::string_view text, ExpressionDialect dialect) {
  ATTUNE_ASSIGN_OR_RETURN(ExpressionTree tree, ParseExpression(text, dialect));
  std::vector<std::string> names = NamesOf(tree);
  return Expression(std::make_shared<const Parsed>(
      Parsed{std::string(text), dialect, std::move(tree), std::move(names)}));
}

const std::vector<std::string>& Expression::names() const { return parsed_->names; }
const std::string& Expression::text() const { return parsed_->text; }
const ExpressionTree& Expression::tree() const { return parsed_->tree; }
ExpressionDialect Expression::dialect() const { return parsed_->dialect; }

Result<ParameterValue> Expression::Evaluate(const Lookup& lookup) const {
  Evaluator evaluator(parsed_->tree, parsed_->dialect, lookup);
  const Operand result = evaluator.Run();
  if (evaluator.error() != EvaluationError::kNone) {
    const ExpressionNode& node = evaluator.culprit();
    return InvalidArgument(fmt::format("Column {} of expression '{}': {}.", node.column, text(),
                                       ReasonOf(evaluator.error(), node)));
  }
  if (const auto* integer = std::get_if<int64_t>(&result)) return ParameterValue(*integer);
  if (const auto* real = std::get_if<double>(&result)) return ParameterValue(*real);
  return ParameterValue(std::string(std::get<std::string_view>(result)));
}

Result<bool> Expression::EvaluateBool(const Lookup& lookup) const {
  ATTUNE_ASSIGN_OR_RETURN(const ParameterValue value, Evaluate(lookup));
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer != 0;
  if (const auto* real = std::get_if<double>(&value)) return *real != 0;
  return InvalidArgument(fmt::format("Expression '{}' is the string '{}', not true or false.",
                                     text(), std::get<std::string>(value)));
}

Result<int64_t> Expression::EvaluateInteger(const Lookup& lookup) const {
  ATTUNE_ASSIGN_OR_RETURN(const ParameterValue value, Evaluate(lookup));
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  return InvalidArgument(
      fmt::format("Expression '{}' is {}, which is not an integer.", text(), Text(value)));
}

}  // namespace attune
