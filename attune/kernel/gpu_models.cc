#include "attune/kernel/gpu_models.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune::kernel {

Result<Target> TargetOfModel(std::string_view backend, std::string_view maker,
                             std::span<const GpuModel> models, const std::string& arch) {
  const auto model =
      std::ranges::find_if(models, [&](const GpuModel& each) { return each.arch == arch; });
  if (model == models.end()) {
    std::vector<std::string> known;
    for (const GpuModel& each : models) known.emplace_back(each.arch);
    return NotFound(
        fmt::format("'{}' is no architecture of {} GPUs that kernels are built for: {}.", arch,
                    maker, fmt::join(known, ", ")));
  }
  Target target{std::string(backend), model->name, model->arch, model->compute_units, {}};
  target.properties = {{"max_work_group_size", std::to_string(model->max_work_group_size)},
                       {"local_memory_bytes", std::to_string(model->local_memory_bytes)}};
  return target;
}

}  // namespace attune::kernel
