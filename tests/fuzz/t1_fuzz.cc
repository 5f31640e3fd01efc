// Any JSON is a T1 description with a kernel file that is read or refused, or none, with the place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/base/json_reader.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/t1_file.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = attune::ReadJson(text, {32, true});
  if (!document.ok() || !attune::kernel::IsT1(*document)) return 0;
  const auto converted = attune::kernel::KernelFileOfT1(*document);
  if (!converted.ok()) {
    attune::FuzzCheck(converted.status().message().find('/') != std::string::npos ||
                      converted.status().message().find("whole file") != std::string::npos);
    return 0;
  }
  for (const auto language : attune::kernel::kKernelLanguages) {
    const auto file = attune::kernel::ParseKernelFile(converted->dump(), language);
    attune::FuzzCheck(file.ok() || !file.status().message().empty());
  }
  return 0;
}
