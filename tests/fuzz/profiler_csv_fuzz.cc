// Any text as the output of nvprof or ncu: refused in words, or launches with figures that can be.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "extensions/models/seer/profiler_csv.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attune::FuzzCheck;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto launches = attune::seer::ReadProfilerCsv(text);
  if (!launches.ok()) {
    FuzzCheck(!launches.error().message().empty());
    return 0;
  }
  FuzzCheck(!launches->empty());
  for (const attune::seer::ProfiledLaunch& launch : *launches) {
    FuzzCheck(!launch.kernel.empty() && launch.launches > 0);
    for (const auto& figure :
         {launch.time_ms, launch.instructions, launch.read_sectors, launch.write_sectors,
          launch.fp_utilisation, launch.dram_utilisation}) {
      FuzzCheck(std::isfinite(figure.value_or(0)) && figure.value_or(0) >= 0);
    }
  }
  const std::vector<attune::seer::ProfiledLaunch> outputs[] = {*launches, *launches};
  const auto merged = attune::seer::MergeLaunches(outputs);
  FuzzCheck(merged.ok() && *merged == *launches);
  FuzzCheck(!attune::seer::Csv(*launches).empty());
  return 0;
}
