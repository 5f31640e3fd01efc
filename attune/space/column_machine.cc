#include "attune/space/column_machine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attune {
namespace {

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

// Where integers cannot be divided, the failure is noted and a harmless divisor taken.
bool CannotDivide(int64_t a, int64_t b) { return b == 0 || (a == kSmallest && b == -1); }

int64_t Divided(ColumnOp op, int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  const int64_t remainder = a % b;
  const bool signs_differ = remainder != 0 && (a < 0) != (b < 0);
  switch (op) {
    case ColumnOp::kDivide:
      return quotient;
    case ColumnOp::kModulo:
      return remainder;
    case ColumnOp::kFloorDivide:
      return signs_differ ? quotient - 1 : quotient;
    case ColumnOp::kFloorModulo:
      return signs_differ ? remainder + b : remainder;
    default:
      return remainder != 0 && !signs_differ ? quotient + 1 : quotient;  // kCeilDivide.
  }
}

// `x << y`, failed where bits are lost.
int64_t ShiftedLeft(int64_t x, int64_t y, bool& failed) {
  const int64_t bits = y & 63;
  const int64_t shifted = x << bits;
  failed |= y != bits || shifted >> bits != x;
  return shifted;
}

double FloorModulo(double a, double b) {
  const double remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace

// Computes one column for all values of its level.
class ColumnStep {
 public:
  ColumnStep(ColumnMachine& machine, ColumnId id, size_t count)
      : machine_(machine),
        column_(machine.program_.columns()[id]),
        out_(machine.lanes_[id]),
        count_(count) {
    out_.cells.resize(count);
    out_.any_failed = false;
  }

  void Run() {
    switch (column_.op) {
      case ColumnOp::kConstant:
        out_.cells[0] = column_.constant;
        return;
      case ColumnOp::kParameter:
      case ColumnOp::kPosition:
        return;  // SetValues filled them.
      case ColumnOp::kAnd:
      case ColumnOp::kOr:
        return Logical();
      case ColumnOp::kSelect:
        return Select();
      case ColumnOp::kToReal:
        return Unary<&Cell::integer, &Cell::real>(
            [](int64_t x, bool&) { return static_cast<double>(x); });
      default:
        break;
    }
    if (column_.operands == CellKind::kReal) return Reals();
    Integers();
  }

 private:
  // An operand: a cell for each lane, or one for all.
  struct Operand {
    const Cell* cells;
    const uint8_t* failed;  // Null if nothing failed.
    bool is_scalar;

    const Cell& at(size_t i) const { return cells[is_scalar ? 0 : i]; }
    bool failed_at(size_t i) const { return failed != nullptr && failed[is_scalar ? 0 : i] != 0; }
  };

  Operand Read(ColumnId id) const {
    static constexpr uint8_t kFailed = 1;
    if (machine_.program_.columns()[id].level == column_.level) {
      const ColumnMachine::Lanes& lanes = machine_.lanes_[id];
      return {lanes.cells.data(), lanes.any_failed ? lanes.failed.data() : nullptr, false};
    }
    const ScalarCell& scalar = machine_.scalars_[id];
    return {&scalar.cell, scalar.failed ? &kFailed : nullptr, true};
  }

  void Fail(size_t i) {
    if (!out_.any_failed) out_.failed.assign(count_, 0);
    out_.any_failed = true;
    out_.failed[i] = 1;
  }

  void FailAsOperand(const Operand& operand) {
    if (operand.failed == nullptr) return;
    for (size_t i = 0; i < count_; ++i) {
      if (operand.failed_at(i)) Fail(i);
    }
  }

  // Runs `compute(x, y, failed)` for all lanes. Failures are rare: single lanes are examined only
  // if one failed, so that the common loop stays short.
  template <auto In, auto Out, class Compute>
  void Binary(const Compute& compute) {
    const Operand a = Read(column_.a);
    const Operand b = Read(column_.b);
    Cell* const out = out_.cells.data();
    bool any = false;
    if (b.is_scalar) {
      const auto y = (*b.cells).*In;
      for (size_t i = 0; i < count_; ++i) out[i].*Out = compute(a.cells[i].*In, y, any);
    } else if (a.is_scalar) {
      const auto x = (*a.cells).*In;
      for (size_t i = 0; i < count_; ++i) out[i].*Out = compute(x, b.cells[i].*In, any);
    } else {
      for (size_t i = 0; i < count_; ++i)
        out[i].*Out = compute(a.cells[i].*In, b.cells[i].*In, any);
    }
    for (size_t i = 0; any && i < count_; ++i) {
      bool failed = false;
      compute(a.at(i).*In, b.at(i).*In, failed);
      if (failed) Fail(i);
    }
    FailAsOperand(a);
    FailAsOperand(b);
  }

  template <auto In, auto Out, class Compute>
  void Unary(const Compute& compute) {
    const Operand a = Read(column_.a);
    for (size_t i = 0; i < count_; ++i) {
      bool failed = false;
      out_.cells[i].*Out = compute(a.at(i).*In, failed);
      if (failed) Fail(i);
    }
    FailAsOperand(a);
  }

  // The right side counts only where the left one does not decide.
  void Logical() {
    const Operand a = Read(column_.a);
    const Operand b = Read(column_.b);
    const bool is_and = column_.op == ColumnOp::kAnd;
    for (size_t i = 0; i < count_; ++i) {
      const int64_t x = a.at(i).integer;
      const int64_t y = b.at(i).integer;
      out_.cells[i].integer = is_and ? x & y : x | y;
    }
    if (a.failed == nullptr && b.failed == nullptr) return;
    for (size_t i = 0; i < count_; ++i) {
      const bool needs_right = (a.at(i).integer != 0) == is_and;
      if (a.failed_at(i) || (needs_right && b.failed_at(i))) Fail(i);
      if (!needs_right) out_.cells[i].integer = is_and ? 0 : 1;
    }
  }

  void Select() {
    const Operand condition = Read(column_.a);
    const Operand then = Read(column_.b);
    const Operand otherwise = Read(column_.c);
    for (size_t i = 0; i < count_; ++i) {
      const Operand& chosen = condition.at(i).integer != 0 ? then : otherwise;
      out_.cells[i] = chosen.at(i);
      if (condition.failed_at(i) || chosen.failed_at(i)) Fail(i);
    }
  }

  // Comparisons are the same for both fields. False if the operation is no comparison.
  template <auto In>
  bool Comparison() {
    switch (column_.op) {
      case ColumnOp::kLess:
        Binary<In, &Cell::integer>([](auto x, auto y, bool&) { return int64_t{x < y}; });
        return true;
      case ColumnOp::kLessEqual:
        Binary<In, &Cell::integer>([](auto x, auto y, bool&) { return int64_t{x <= y}; });
        return true;
      case ColumnOp::kEqual:
        Binary<In, &Cell::integer>([](auto x, auto y, bool&) { return int64_t{x == y}; });
        return true;
      case ColumnOp::kNotEqual:
        Binary<In, &Cell::integer>([](auto x, auto y, bool&) { return int64_t{x != y}; });
        return true;
      case ColumnOp::kMin:
        Binary<In, In>([](auto x, auto y, bool&) { return y < x ? y : x; });
        return true;
      case ColumnOp::kMax:
        Binary<In, In>([](auto x, auto y, bool&) { return y > x ? y : x; });
        return true;
      default:
        return false;
    }
  }

  template <class Compute>
  void BinaryIntegers(const Compute& compute) {
    Binary<&Cell::integer, &Cell::integer>(compute);
  }

  void Integers() {
    if (Comparison<&Cell::integer>()) return;
    switch (column_.op) {
      case ColumnOp::kAdd:
        return BinaryIntegers([](int64_t x, int64_t y, bool& failed) {
          int64_t sum = 0;
          failed |= __builtin_add_overflow(x, y, &sum);
          return sum;
        });
      case ColumnOp::kSubtract:
        return BinaryIntegers([](int64_t x, int64_t y, bool& failed) {
          int64_t difference = 0;
          failed |= __builtin_sub_overflow(x, y, &difference);
          return difference;
        });
      case ColumnOp::kMultiply:
        return BinaryIntegers([](int64_t x, int64_t y, bool& failed) {
          int64_t product = 0;
          failed |= __builtin_mul_overflow(x, y, &product);
          return product;
        });
      case ColumnOp::kGcd:
        return BinaryIntegers([](int64_t x, int64_t y, bool& failed) {
          const bool bad = x == kSmallest || y == kSmallest;
          failed |= bad;
          return bad ? 0 : std::gcd(x, y);
        });
      case ColumnOp::kNot:
      case ColumnOp::kNegate:
      case ColumnOp::kAbs:
      case ColumnOp::kBitNot:
        return Signed();
      case ColumnOp::kShiftLeft:
      case ColumnOp::kShiftRight:
      case ColumnOp::kBitAnd:
      case ColumnOp::kBitXor:
      case ColumnOp::kBitOr:
        return Bits();
      default:
        return BinaryIntegers([op = column_.op](int64_t x, int64_t y, bool& failed) {
          const bool bad = CannotDivide(x, y);
          failed |= bad;
          return Divided(op, x, bad ? 1 : y);
        });
    }
  }

  void Bits() {
    switch (column_.op) {
      case ColumnOp::kShiftLeft:
        return BinaryIntegers(ShiftedLeft);
      case ColumnOp::kShiftRight:
        return BinaryIntegers([](int64_t x, int64_t y, bool& failed) {
          failed |= y != (y & 63);
          return x >> (y & 63);
        });
      case ColumnOp::kBitAnd:
        return BinaryIntegers([](int64_t x, int64_t y, bool&) { return x & y; });
      case ColumnOp::kBitXor:
        return BinaryIntegers([](int64_t x, int64_t y, bool&) { return x ^ y; });
      default:
        return BinaryIntegers([](int64_t x, int64_t y, bool&) { return x | y; });
    }
  }

  void Signed() {
    Unary<&Cell::integer, &Cell::integer>([op = column_.op](int64_t x, bool& failed) {
      if (op == ColumnOp::kNot) return int64_t{x == 0};
      if (op == ColumnOp::kBitNot) return ~x;
      if (op == ColumnOp::kAbs && x >= 0) return x;
      failed |= x == kSmallest;
      return x == kSmallest ? x : -x;
    });
  }

  template <class Compute>
  void BinaryReals(const Compute& compute) {
    Binary<&Cell::real, &Cell::real>([&compute](double x, double y, bool& failed) {
      const double result = compute(x, y);
      failed |= !(std::fabs(result) <= std::numeric_limits<double>::max());
      return result;
    });
  }

  // Division by zero is infinite or no number, and so fails, too.
  void Reals() {
    if (Comparison<&Cell::real>()) return;
    switch (column_.op) {
      case ColumnOp::kAdd:
        return BinaryReals([](double x, double y) { return x + y; });
      case ColumnOp::kSubtract:
        return BinaryReals([](double x, double y) { return x - y; });
      case ColumnOp::kMultiply:
        return BinaryReals([](double x, double y) { return x * y; });
      case ColumnOp::kDivide:
        return BinaryReals([](double x, double y) { return x / y; });
      case ColumnOp::kFloorDivide:
        return BinaryReals([](double x, double y) { return std::floor(x / y); });
      case ColumnOp::kModulo:
        return BinaryReals([](double x, double y) { return std::fmod(x, y); });
      case ColumnOp::kFloorModulo:
        return BinaryReals(FloorModulo);
      case ColumnOp::kNegate:
        return Unary<&Cell::real, &Cell::real>([](double x, bool&) { return -x; });
      default:
        return Unary<&Cell::real, &Cell::real>([](double x, bool&) { return std::fabs(x); });
    }
  }

  ColumnMachine& machine_;
  const Column& column_;
  ColumnMachine::Lanes& out_;
  size_t count_;
};

ColumnMachine::ColumnMachine(const ColumnProgram& program)
    : program_(program), lanes_(program.columns().size()), scalars_(program.columns().size()) {
  for (ColumnId id = 0; id < program.columns().size(); ++id) {
    if (program.columns()[id].level != kKnownLevel) continue;
    ColumnStep(*this, id, 1).Run();
    Choose(id, 0);
  }
}

void ColumnMachine::SetValues(int level, const std::vector<ParameterValue>& values) {
  const auto at = static_cast<size_t>(level);
  lanes_of_level_.resize(std::max(lanes_of_level_.size(), at + 1));
  lanes_of_level_[at] = values.size();
  for (ColumnId id = 0; id < program_.columns().size(); ++id) {
    const Column& column = program_.columns()[id];
    if (column.level != level) continue;
    if (column.op == ColumnOp::kParameter) lanes_[id].cells = program_.CellsOf(values);
    if (column.op != ColumnOp::kPosition) continue;
    lanes_[id].cells.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      lanes_[id].cells[i].integer = static_cast<int64_t>(i);
    }
  }
}

void ColumnMachine::Run(std::span<const ColumnId> columns, int level) {
  const size_t count = lanes_of_level_[static_cast<size_t>(level)];
  for (const ColumnId id : columns) ColumnStep(*this, id, count).Run();
}

}  // namespace attune
