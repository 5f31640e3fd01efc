// A target or environment that is accepted has one canonical text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/problem/target.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto target = attune::ParseTarget(text);
  if (target.ok()) attune::FuzzCheck(*attune::ParseTarget(attune::Text(*target)) == *target);
  const auto environment = attune::ParseEnvironment(text);
  if (environment.ok()) {
    attune::FuzzCheck(*attune::ParseEnvironment(attune::Text(*environment)) == *environment);
  }
  return 0;
}
