// Any text is an expression that evaluates to a value or an error, or no expression.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/space/expression.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const attune::ParameterValue integer = int64_t{3};
  const attune::ParameterValue real = 2.5;
  const attune::ParameterValue word = std::string("nhwc");
  const attune::Expression::Lookup lookup =
      [&](std::string_view name) -> const attune::ParameterValue* {
    if (name == "a") return &integer;
    if (name == "b") return &real;
    return name == "s" ? &word : nullptr;
  };
  for (const auto dialect : {attune::ExpressionDialect::kC, attune::ExpressionDialect::kPython}) {
    const auto expression = attune::Expression::Parse(text, dialect);
    if (!expression.ok()) continue;
    const auto value = expression->Evaluate(lookup);
    attune::FuzzCheck(value.ok() || !value.status().message().empty());
  }
  return 0;
}
