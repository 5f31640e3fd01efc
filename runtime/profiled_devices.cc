#include "runtime/profiled_devices.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/base/process_variables.h"
#include "runtime/places.h"

namespace attune {

Result<std::unique_ptr<MachineLock>> LockOfGpu(const std::string& name,
                                               const BackendList& backends) {
  ATTUNE_ASSIGN_OR_RETURN(const auto device, VisibleDevice(name, VariablesOfProcess()));
  const auto place = FindPlace(backends, "cuda:" + name);
  if (place.ok()) return MachineLock::Open(*place);
  return MachineLock::Named("gpu-" + device.variables.at("CUDA_VISIBLE_DEVICES"));
}

Result<ProfiledDevices> ProfiledDevices::Open(const std::vector<std::string>& names,
                                              const BackendList& backends) {
  ProfiledDevices devices;
  if (names.empty()) return InvalidArgument("No device is named, so no command can run.");
  const ProcessVariables process = VariablesOfProcess();
  std::map<std::pair<std::string, std::string>, std::string> seen;  // Names, by variable and value.
  for (const std::string& name : names) {
    if (devices.locks_.contains(name)) {
      return InvalidArgument(fmt::format(
          "The devices name '{}' twice: one command at a time runs on a device.", name));
    }
    ATTUNE_ASSIGN_OR_RETURN(auto device, VisibleDevice(name, process));
    // Variables of this process may let it see one device as two.
    for (const auto& entry : device.variables) {
      const auto [other, is_new] = seen.emplace(entry, name);
      if (is_new) continue;
      return InvalidArgument(
          fmt::format("The devices '{}' and '{}' are one, because {} names '{}' for both: one "
                      "command at a time runs on a device.",
                      other->second, name, entry.first, entry.second));
    }
    auto lock = LockOfGpu(name, backends);
    if (!lock.ok()) return lock.error();
    devices.locks_[name] = std::move(*lock);
    devices.list_.push_back(std::move(device));
  }
  return devices;
}

Result<std::shared_ptr<void>> ProfiledDevices::Take(const std::string& device,
                                                    const std::function<bool()>& go_on) const {
  ATTUNE_ASSIGN_OR_RETURN(auto grant, locks_.at(device)->Take(MachineUse::kTime, go_on));
  return std::shared_ptr<void>(std::move(grant.turn));
}

}  // namespace attune
