// Any line is problems that are valid and read back, or an error with a place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/formats/driver_command.h"
#include "attune/formats/problem_line.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto problems = attune::ReadProblemLine(text);
  if (!problems.has_value()) {
    attune::FuzzCheck(problems.error().column >= 1 && problems.error().column <= size + 1);
    return 0;
  }
  for (const attune::Problem& problem : *problems) {
    const auto again = attune::ParseProblem(attune::Text(problem));
    attune::FuzzCheck(again.ok() && *again == problem);
  }
  return 0;
}
