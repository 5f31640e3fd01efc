// Whatever ParseProblem accepts is valid and has one canonical text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/problem/problem.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto problem = attune::ReadProblem(text);
  if (!problem.has_value()) {
    attune::FuzzCheck(problem.error().column >= 1 && problem.error().column <= size + 1);
    return 0;
  }
  attune::FuzzCheck(attune::Validate(*problem).ok());
  const auto again = attune::ParseProblem(attune::Text(*problem));
  attune::FuzzCheck(again.ok() && *again == *problem);
  for (const attune::Operand& operand : attune::Operands(*problem)) {
    attune::FuzzCheck(attune::SpanElements(operand.tensor) >= 1);
  }
  attune::FuzzCheck(attune::Flops(*problem) >= 0);
  return 0;
}
