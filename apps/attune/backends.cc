#include "apps/attune/backends.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "attune/solver/plugin.h"
#include "backends/host/host_backend.h"

namespace attune {
namespace {

void AddPlugin(const std::string& name, LoadedBackends& backends) {
  const auto plugin = LoadPlugin(name);
  if (!plugin.ok()) {
    backends.refused.push_back({name, plugin.error().message()});
  } else if ((*plugin)->make_backend != nullptr) {
    backends.list.push_back((*plugin)->make_backend());
  }
}

// Names in ATTUNE_PLUGINS, separated by commas.
std::vector<std::string> ExtraPlugins() {
  std::vector<std::string> names;
  const char* listed = std::getenv("ATTUNE_PLUGINS");
  std::istringstream list(listed == nullptr ? "" : listed);
  for (std::string name; std::getline(list, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

// What is the same for every backend; informational, see docs/formats/environment.md.
void AddHost(Environment& environment) {
  utsname system{};
  if (::uname(&system) != 0) return;
  environment["host.name"] = system.nodename;
  environment["host.kernel"] = fmt::format("{} {}", system.sysname, system.release);
}

}  // namespace

LoadedBackends LoadBackends() {
  LoadedBackends backends;
  backends.list.push_back(MakeHostBackend());
  AddPlugin("opencl", backends);
  for (const std::string& name : ExtraPlugins()) AddPlugin(name, backends);
  return backends;
}

Result<Place> FindPlace(const BackendList& backends, const std::string& device_spec) {
  ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(backends, device_spec));
  for (const DeviceReport& device : backend->Devices()) {
    if (device.spec != device_spec) continue;
    if (!device.reason.empty()) {
      return Unavailable(
          fmt::format("The device '{}' cannot be used: {}", device_spec, device.reason));
    }
    Place place{backend, device_spec, device.target, backend->DescribeEnvironment()};
    AddHost(place.environment);
    return place;
  }
  return NotFound(fmt::format("There is no device '{}'.", device_spec));
}

}  // namespace attune
