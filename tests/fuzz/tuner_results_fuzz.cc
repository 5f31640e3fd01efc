// Any text as results of another tuner: refused with a place, or read so that T4 of them is the
// same, and every beginning of a cache is refused or has no config that the whole file lacks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/formats/tuner_results.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attune::FuzzCheck;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto results = attune::ReadTunerResults(text);
  if (!results.ok()) {
    FuzzCheck(results.error().message().starts_with("line "));
    return 0;
  }
  for (const attune::TriedConfig& tried : results->tried) {
    FuzzCheck((tried.status == "ok") == (tried.time_ms > 0));
    FuzzCheck(tried.config.size() == results->parameters.size());
  }
  if (!results->tried.empty()) {
    const auto again = attune::ReadTunerResults(attune::WriteT4(*results));
    FuzzCheck(again.ok() && again->tried.size() == results->tried.size());
  }
  const auto begun = attune::ReadTunerResults(text.substr(0, size - size / 4));
  if (!begun.ok()) {
    FuzzCheck(begun.error().message().starts_with("line "));
    return 0;
  }
  FuzzCheck(begun->tried.size() <= results->tried.size());
  if (begun->tried.size() < results->tried.size()) FuzzCheck(begun->is_open);
  return 0;
}
