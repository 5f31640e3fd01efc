// A candidate or config that is accepted has one canonical text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/trial/candidate.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto candidate = attune::ParseCandidate(text);
  if (candidate.ok()) {
    const auto again = attune::ParseCandidate(attune::Text(*candidate));
    attune::FuzzCheck(again.ok() && *again == *candidate);
  }
  const auto config = attune::ParseConfig(text);
  if (config.ok()) attune::FuzzCheck(*attune::ParseConfig(attune::Text(*config)) == *config);
  return 0;
}
