// Launches that a captured program left behind, and the kernel files made of them.
#include <cstdint>
#include <string_view>

#include "attune/kernel/capture/captured_kernel.h"
#include "attune/kernel/capture/captured_launch.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto launch = attune::capture::ReadLaunch({reinterpret_cast<const char*>(data), size});
  if (!launch.ok()) {
    attune::FuzzCheck(!launch.error().message().empty());
    return 0;
  }
  const auto kernel = attune::capture::MakeCapturedKernel(*launch, "fuzz");
  attune::FuzzCheck(kernel.ok() ? !kernel->json.empty() : !kernel.error().message().empty());
  return 0;
}
