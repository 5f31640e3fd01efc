// Any driver command is problems that are valid and read back, or an error with a place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/formats/driver_command.h"
#include "attune/ops/conv/conv.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto problems = attune::ReadDriverCommand(text);
  if (!problems.has_value()) {
    attune::FuzzCheck(problems.error().column >= 1 && problems.error().column <= size + 1);
    return 0;
  }
  for (const attune::Problem& problem : *problems) {
    attune::FuzzCheck(attune::Validate(problem).ok());
    const auto again = attune::ParseProblem(attune::Text(problem));
    attune::FuzzCheck(again.ok() && *again == problem);
    const auto* const conv = problem.As<attune::Conv>();
    if (conv == nullptr || conv->math != attune::MathMode::kStrict) continue;
    const auto command = attune::DriverCommandOf(*conv);
    // convfp64 is read, but MIOpenDriver has no such operator.
    attune::FuzzCheck(command.ok() == (conv->type != attune::DataType::kF64));
    if (!command.ok()) continue;
    attune::FuzzCheck(attune::ReadDriverCommand(*command)->front() == problem);
  }
  return 0;
}
