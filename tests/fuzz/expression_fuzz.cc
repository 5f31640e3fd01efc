// Any text is an expression that evaluates to a value or an error, or no expression; and a space
// that it constrains has the configs at which it is true.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/space/config_space.h"
#include "attune/space/expression.h"
#include "tests/fuzz/fuzz_check.h"

namespace attune {
namespace {

std::vector<Parameter> Parameters() {
  return {{"a", {int64_t{3}, int64_t{0}, int64_t{-2}}},
          {"b", {2.5, -0.5}},
          {"s", {std::string("nhwc"), std::string("w")}}};
}

// At how many of all combinations the expression is true, and at how many it has no value.
struct Truths {
  uint64_t valid = 0;
  uint64_t failed = 0;
};

Truths TryAll(const Expression& expression) {
  const std::vector<Parameter> parameters = Parameters();
  Truths truths;
  for (const ParameterValue& a : parameters[0].values) {
    for (const ParameterValue& b : parameters[1].values) {
      for (const ParameterValue& s : parameters[2].values) {
        const auto lookup = [&](std::string_view name) -> const ParameterValue* {
          return name == "a" ? &a : name == "b" ? &b : name == "s" ? &s : nullptr;
        };
        const auto value = expression.Evaluate(lookup);
        FuzzCheck(value.ok() || !value.status().message().empty());
        const auto truth = expression.EvaluateBool(lookup);
        truths.valid += truth.ok() && *truth ? 1 : 0;
        truths.failed += truth.ok() ? 0 : 1;
      }
    }
  }
  return truths;
}

void CheckSpace(const Expression& expression, const Truths& truths) {
  const auto space = ConfigSpace::Create(Parameters(), {ConstraintFrom(expression)});
  FuzzCheck(space.ok() || !space.status().message().empty());
  // A name that may not be read there is refused, though it may never be reached.
  if (space.status().code() == StatusCode::kNotFound) return;
  FuzzCheck(space.ok() == (truths.failed == 0 && truths.valid > 0));
  if (space.ok()) FuzzCheck(space->size() == truths.valid);
}

}  // namespace
}  // namespace attune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto dialect : {attune::ExpressionDialect::kC, attune::ExpressionDialect::kPython}) {
    const auto expression = attune::Expression::Parse(text, dialect);
    if (!expression.ok()) continue;
    attune::CheckSpace(*expression, attune::TryAll(*expression));
  }
  return 0;
}
