#include "attune/solver/backend.h"

#include <fmt/format.h>

namespace attune {

Result<const Backend*> FindBackend(const BackendList& backends, std::string_view spec) {
  std::string known;
  for (const auto& backend : backends) {
    for (const DeviceReport& device : backend->Devices()) {
      if (device.spec == spec) return backend.get();
      known += fmt::format("{}{}", known.empty() ? "" : ", ", device.spec);
    }
  }
  return NotFound(fmt::format(
      "There is no device '{}'. Devices here: {}. 'attune devices' says what is missing.", spec,
      known.empty() ? "none" : known));
}

}  // namespace attune
