// Text expressions over named values: constraints, launch geometry and shared-memory sizes in
// kernel files.
//
// Grammar: the common part of C and Python: integer, real and string literals; true, false; names;
// ( ); unary - + ! ~; * / // %; + -; << >>; < <= > >= == !=; x in (a, b, ...) and x not in (a, b,
// ...); not; && and; || or; c ? a : b and `a if c else b`; min, max, abs, int, ceil_div, gcd. From
// tightest to loosest in this order, `!` tight as in C and `not` loose as in Python. `//` rounds
// down, `int` towards zero.
//
// These differ between the two languages:
//
//                    C                                     Python
//   & ^ |            looser than comparisons               between shifts and comparisons
//   ** (power)       none                                  tighter than a sign before it
//   / of integers    truncates                             a real
//   %                sign of the left side                 sign of the right side
//   a < b < c        refused                               a < b and b < c
//   && and || or     0 or 1                                the operand that decided
//   064              52                                    refused
//
// Logical operators evaluate the right side only if it is needed. A shift is by 0 to 63 bits, and
// bits lost on the left are an overflow, because Python loses none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/value.h"

namespace attune {

struct ExpressionTree;

enum class ExpressionDialect { kC, kPython };

// A parsed expression. Immutable, cheap to copy, thread-safe.
class Expression {
 public:
  // Fails with the column (1-based) and the expected token. Texts are at most kMaxTextBytes long
  // and nest at most kMaxDepth deep.
  static constexpr size_t kMaxTextBytes = 64 * 1024;
  static constexpr int kMaxDepth = 200;
  static Result<Expression> Parse(std::string_view text,
                                  ExpressionDialect dialect = ExpressionDialect::kC);

  // Every name that appears, sorted, each once.
  const std::vector<std::string>& names() const;
  const std::string& text() const;
  // The parsed text (expression_tree.h): for this module.
  const ExpressionTree& tree() const;
  ExpressionDialect dialect() const;

  // `lookup` returns null for an unknown name, which is an error that names it; so are division by
  // zero, overflow of 64 bits, shifts by fewer than 0 or more than 63 bits, powers that are no real
  // numbers and operands of the wrong kind.
  using Lookup = std::function<const ParameterValue*(std::string_view name)>;
  Result<ParameterValue> Evaluate(const Lookup& lookup) const;

  // Evaluate, and nonzero is true.
  Result<bool> EvaluateBool(const Lookup& lookup) const;
  // Evaluate, and anything but an integer is an error.
  Result<int64_t> EvaluateInteger(const Lookup& lookup) const;

 private:
  struct Parsed;
  explicit Expression(std::shared_ptr<const Parsed> parsed);
  // Shared: copies of an Expression share one immutable tree.
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace attune
