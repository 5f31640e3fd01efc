#include "runtime/tune_on_devices.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/process_variables.h"
#include "attune/tunable/file_names.h"
#include "runtime/places.h"

namespace attune {
namespace {

constexpr std::string_view kHostDevice = "cpu";

// Of a kind, usable or not: their numbers are what counts.
std::vector<std::string> DevicesOf(std::string_view kind) {
  std::vector<std::string> specs;
  const BackendList backends = LazyBackends();
  for (const auto& backend : backends) {
    // The host first, whose device has another name: no further backend is asked for it.
    const bool is_host = backend == backends.front() && kind == kHostDevice;
    if (backend->name() != kind && !is_host) continue;
    for (const DeviceReport& device : backend->Devices()) specs.push_back(device.spec);
  }
  return specs;
}

Result<std::vector<std::string>> AskedDevices(const DeviceTuning& asked) {
  std::vector<std::string> specs = DevicesOf(asked.kind);
  if (specs.empty()) {
    return NoDeviceOf(LazyBackends(), asked.kind);
  }
  const auto available = static_cast<int64_t>(specs.size());
  const int64_t count = asked.count.value_or(available);
  if (count < 1 || count > available) {
    return InvalidArgument(
        fmt::format("The number of devices is {}; of '{}' it can be 1 to {}, as many as there are.",
                    count, asked.kind, available));
  }
  specs.resize(static_cast<size_t>(count));
  return specs;
}

Result<TunableSwitches> TuningSwitches(const RuntimeOptions& options) {
  TunableSwitches switches;
  if (options.tunable.has_value()) {
    switches = *options.tunable;
  } else {
    ATTUNE_ASSIGN_OR_RETURN(switches, TunableSwitches::FromEnvironment(VariablesOfProcess()));
  }
  ATTUNE_RETURN_IF_ERROR(switches.Set(TunableVariable::kEnabled, "1"));
  ATTUNE_RETURN_IF_ERROR(switches.Set(TunableVariable::kTuning, "1"));
  return switches;
}

}  // namespace

Result<OfflineReport> TuneOnDevices(const RuntimeOptions& options, const DeviceTuning& asked) {
  // Before a device is opened, which may take seconds.
  const bool is_file = asked.pattern.empty() && !asked.file.empty();
  ATTUNE_RETURN_IF_ERROR(is_file ? ReadFileAtOnce(asked.file).status()
                                 : FilesLike(asked.pattern).status());
  ATTUNE_ASSIGN_OR_RETURN(const auto specs, AskedDevices(asked));
  RuntimeOptions of_device = options;
  ATTUNE_ASSIGN_OR_RETURN(of_device.tunable, TuningSwitches(options));
  std::vector<std::unique_ptr<Runtime>> runtimes;
  std::vector<OfflineDevice> devices;
  for (const std::string& spec : specs) {
    of_device.device = spec;
    auto runtime = Runtime::Create(of_device);
    OfflineDevice device{spec, OrdinalOf(spec), runtime.status()};
    if (runtime.ok()) {
      device.context = &(*runtime)->tunable();
      runtimes.push_back(*std::move(runtime));
    }
    devices.push_back(std::move(device));
  }
  return is_file ? TuneFileOn(asked.file, devices) : TuneFiles(asked.pattern, devices);
}

}  // namespace attune
