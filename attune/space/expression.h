// Text expressions over named values: constraints, launch geometry and shared-memory sizes in kernel files.
//
// Grammar: the common part of C and Python: integer, real and string literals; names; ( ); unary - + ! not;
// * / // %; + -; < <= > >= == !=; && and; || or; c ? a : b and `a if c else b`; min, max, abs, ceil_div,
// gcd, and x in (a, b, ...). `/` on two integers truncates as in C unless the dialect is Python, where it
// is true division.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/value.h"

namespace attune {

enum class ExpressionDialect { kC, kPython };

// A parsed expression. Immutable, cheap to copy, thread-safe.
class Expression {
 public:
  // Fails with the column (1-based) and what was expected there.
  static Result<Expression> Parse(std::string_view text,
                                  ExpressionDialect dialect = ExpressionDialect::kC);

  // Every name that appears, sorted, each once.
  const std::vector<std::string>& names() const;
  const std::string& text() const;

  // `lookup` returns null for an unknown name, which is an error that names it; so are division by zero,
  // overflow of 64 bits and operands of the wrong kind.
  using Lookup = std::function<const ParameterValue*(std::string_view name)>;
  Result<ParameterValue> Evaluate(const Lookup& lookup) const;

  // Evaluate, and nonzero is true.
  Result<bool> EvaluateBool(const Lookup& lookup) const;
  // Evaluate, and anything but an integer is an error.
  Result<int64_t> EvaluateInteger(const Lookup& lookup) const;

 private:
  struct Node;
  struct Parsed;
  friend class ExpressionParser;
  explicit Expression(std::shared_ptr<const Parsed> parsed);
  // Shared: copies of an Expression share one immutable tree.
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace attune
