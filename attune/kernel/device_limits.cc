#include "attune/kernel/device_limits.h"

#include <fmt/format.h>

namespace attune::kernel {

Result<Config> DeviceLimitsOf(const Target& target) {
  Config limits;
  for (std::string_view name : kDeviceLimitNames) {
    if (name == "compute_units") {
      limits[std::string(name)] = int64_t{target.compute_units};
      continue;
    }
    const auto property = target.properties.find(std::string(name));
    const ParameterValue value = property == target.properties.end()
                                     ? ParameterValue("")
                                     : ParseParameterValue(property->second);
    if (!std::holds_alternative<int64_t>(value)) {
      return Unsupported(fmt::format("The target '{}' does not say its {}.", Text(target), name));
    }
    limits[std::string(name)] = value;
  }
  return limits;
}

}  // namespace attune::kernel
