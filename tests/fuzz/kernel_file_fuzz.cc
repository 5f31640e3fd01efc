// Any text is a kernel file with plans that are numbers or reasons, or no kernel file, with the
// place of the mistake.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_kernel.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

// Large spaces only cost time here.
constexpr uint64_t kMostCombinations = 4096;

bool IsSmall(const attune::kernel::KernelFile& file) {
  uint64_t combinations = 1;
  for (const attune::Parameter& parameter : file.parameters)
    combinations *= parameter.values.size();
  return combinations <= kMostCombinations;
}

using attune::kernel::KernelLanguage;

// A user's kernel turns sizes into a problem that is read back, or an error with its place.
void TryOwnProblem(const attune::kernel::KernelFile& file) {
  attune::kernel::OwnSizes sizes = file.own->usual_sizes;
  for (const std::string& name : file.own->sizes) sizes.emplace(name, 8);
  const auto problem = attune::kernel::MakeOwnProblem(file, sizes);
  attune::FuzzCheck(problem.ok() || !problem.status().message().empty());
  if (problem.ok()) attune::FuzzCheck(*attune::ParseProblem(Text(*problem)) == *problem);
}

void TryPlans(const attune::kernel::KernelFile& file) {
  if (file.own.has_value()) TryOwnProblem(file);
  const attune::Target target = {
      "device",
      "Device",
      "sm_90",
      2,
      {{"max_work_group_size", "1024"}, {"local_memory_bytes", "65536"}}};
  const attune::Config limits = *attune::kernel::DeviceLimitsOf(target, file.language);
  for (const attune::Problem& problem :
       {attune::Problem(attune::PackedGemm(33, 17, 9)), attune::Problem(attune::Conv{})}) {
    if (!attune::kernel::CheckApplies(file, problem, limits).ok() || !IsSmall(file)) continue;
    const auto space = attune::kernel::MakeSpace(file, problem, limits);
    if (!space.ok()) continue;
    const auto plan = attune::kernel::MakePlan(file, problem, space->At(0));
    if (plan.ok()) attune::FuzzCheck(attune::kernel::ParseKernelPlan(Text(*plan)).ok());
    const auto source = attune::kernel::MakeSource(file, problem, space->At(0));
    attune::FuzzCheck(source.ok() || !source.status().message().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const KernelLanguage language : attune::kernel::kKernelLanguages) {
    const auto file =
        attune::kernel::ParseKernelFile({reinterpret_cast<const char*>(data), size}, language);
    if (file.ok()) {
      TryPlans(*file);
    } else {
      attune::FuzzCheck(!file.status().message().empty());
    }
  }
  return 0;
}
