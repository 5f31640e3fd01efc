#include "runtime/places.h"

#include <sys/utsname.h>

#include <charconv>
#include <mutex>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "attune/base/path_variable.h"
#include "attune/base/process_variables.h"
#include "attune/library/fin/fin_library.h"
#include "attune/library/library_backend.h"
#include "attune/library/tool_library.h"
#include "attune/solver/plugin.h"
#include "backends/host/execution_environment.h"
#include "backends/host/host_backend.h"

namespace attune {
namespace {

constexpr const char* kPluginsVariable = "ATTUNE_PLUGINS";

void AddPlugin(const std::string& name, const std::string& chosen_by, LoadedBackends& backends) {
  const auto plugin = LoadPlugin(name);
  if (!plugin.ok()) {
    backends.refused.push_back({name, plugin.error().message(), chosen_by});
  } else if ((*plugin)->make_backend != nullptr) {
    backends.list.push_back((*plugin)->make_backend());
  }
}

// Names in ATTUNE_PLUGINS, separated by commas.
std::vector<std::string> ExtraPlugins() {
  std::vector<std::string> names;
  std::istringstream list(VariableOr(kPluginsVariable, ""));
  for (std::string name; std::getline(list, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

// Stands for the backend of a plug-in until somebody asks it anything. Every virtual function of
// Backend is here: what is not passed on would be that of another backend.
class PluginBackend final : public Backend {
 public:
  explicit PluginBackend(std::string plugin) : plugin_(std::move(plugin)) {}

  std::string_view name() const override { return plugin_; }
  const SolverList& solvers() const override {
    return loaded() == nullptr ? no_solvers_ : loaded()->solvers();
  }
  std::vector<DeviceReport> Devices() const override {
    return loaded() == nullptr ? std::vector<DeviceReport>() : loaded()->Devices();
  }
  std::vector<LibraryReport> Libraries() const override {
    return loaded() == nullptr ? std::vector<LibraryReport>() : loaded()->Libraries();
  }
  Environment DescribeEnvironment() const override {
    return loaded() == nullptr ? Environment() : loaded()->DescribeEnvironment();
  }
  bool OpensAfterFork() const override { return loaded() != nullptr && loaded()->OpensAfterFork(); }
  Result<std::unique_ptr<Device>> Open(std::string_view spec) const override {
    if (loaded() == nullptr) return NotFound(reason_);
    return loaded()->Open(spec);
  }
  bool IsCostlyToOpen() const override { return loaded() != nullptr && loaded()->IsCostlyToOpen(); }
  bool IsProcessor(std::string_view spec) const override {
    return loaded() != nullptr && loaded()->IsProcessor(spec);
  }
  const Solver* reference_solver() const override {
    return loaded() == nullptr ? nullptr : loaded()->reference_solver();
  }
  Result<Peaks> MeasurePeaks(Device& device) const override {
    if (loaded() == nullptr) return NotFound(reason_);
    return loaded()->MeasurePeaks(device);
  }

 private:
  // Null if there is no such plug-in here.
  const Backend* loaded() const {
    std::call_once(once_, [this] {
      LoadedBackends backends;
      AddPlugin(plugin_, "", backends);
      if (!backends.list.empty()) backend_ = std::move(backends.list.front());
      if (!backends.refused.empty()) reason_ = backends.refused.front().reason;
    });
    return backend_.get();
  }

  const std::string plugin_;
  const SolverList no_solvers_;
  // Written once, under once_.
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Backend> backend_;
  mutable std::string reason_;
};

// MIOpen, if ATTUNE_FIN names the program that drives it.
void AddFin(LoadedBackends& backends) {
  fin::FinSettings settings;
  const auto program = CodeNameIn(fin::kFinVariable);
  if (!program.ok()) {
    backends.refused.push_back({"", program.error().message(), fin::kFinVariable});
    return;
  }
  settings.program = *program;
  if (settings.program.empty()) return;
  settings.target = VariableOr(fin::kFinTargetVariable, "");
  settings.devices = VariableOr(fin::kFinDevicesVariable, settings.devices);
  settings.deadline_s = VariableOr(fin::kFinDeadlineVariable, settings.deadline_s);
  auto library = fin::FinLibrary::Open(settings);
  if (!library.ok()) {
    backends.refused.push_back({settings.program, library.error().message(), fin::kFinVariable});
    return;
  }
  backends.list.push_back(std::make_unique<LibraryBackend>(std::move(*library)));
}

// MIOpen, and the tools that ATTUNE_TOOLS names, separated by ':'.
LoadedBackends LoadTools() {
  LoadedBackends backends;
  AddFin(backends);
  std::istringstream list(VariableOr(kToolsVariable, ""));
  for (std::string path; std::getline(list, path, ':');) {
    if (path.empty()) continue;
    const Status whole = CheckCodePath(kToolsVariable, path);
    auto tool = whole.ok() ? ToolLibrary::Open(path) : whole;
    if (!tool.ok()) {
      backends.refused.push_back({path, tool.error().message(), kToolsVariable});
      continue;
    }
    // What runs on processors inherits how threads of this process wait.
    Environment policies;
    if ((*tool)->Devices().front().name.empty()) policies = host::DescribeExecution();
    std::erase_if(policies, [](const auto& field) { return !field.first.starts_with("policy."); });
    backends.list.push_back(
        std::make_unique<LibraryBackend>(std::move(*tool), std::move(policies)));
  }
  return backends;
}

void AddTools(LoadedBackends& backends) {
  LoadedBackends tools = LoadTools();
  for (auto& tool : tools.list) backends.list.push_back(std::move(tool));
  for (auto& refusal : tools.refused) backends.refused.push_back(std::move(refusal));
}

// What is the same for every backend; informational, see docs/formats/environment.md.
void AddHost(Environment& environment) {
  utsname system{};
  if (::uname(&system) != 0) return;
  environment["host.name"] = system.nodename;
  environment["host.kernel"] = fmt::format("{} {}", system.sysname, system.release);
}

// A variable that asks for something which is not to be had; `remedy` ends the sentence that begins
// with "Correct or unset it".
Status NotHonoured(const std::string& variable, const std::string& reason,
                   std::string_view remedy = "; 'attune devices' shows what is found.") {
  return FailedPrecondition(
      fmt::format("Nothing is measured, because {} is '{}' and cannot be followed: {} Correct or "
                  "unset it{}",
                  variable, VariableOr(variable.c_str(), ""), reason, remedy));
}

// An OpenMP runtime that cannot read the variable goes on as if it were unset, and spins.
Status CheckWaitPolicy(const Environment& environment) {
  if (!environment.contains(host::kWaitPolicyField)) return Status::Ok();  // No matter there.
  const std::string value = VariableOr(host::kWaitPolicyVariable, "");
  if (value.empty() || host::WaitPolicyOf(value).has_value()) return Status::Ok();
  return NotHonoured(host::kWaitPolicyVariable, "Threads of OpenMP wait 'active' or 'passive'.",
                     ".");
}

// A folder of plug-ins that is none would look like a build without plug-ins.
void CheckPluginFolder(LoadedBackends& backends) {
  const auto folder = CodePathIn(kPluginPathVariable);
  std::error_code ignored;
  if (folder.ok() && (folder->empty() || std::filesystem::is_directory(*folder, ignored))) return;
  const std::string reason =
      folder.ok() ? fmt::format("{} is not a folder.", folder->string()) : folder.error().message();
  backends.refused.push_back({"", reason, kPluginPathVariable});
}

}  // namespace

LoadedBackends LoadBackends() {
  LoadedBackends backends;
  CheckPluginFolder(backends);
  backends.list.push_back(MakeHostBackend());
  for (const char* name : {"opencl", "cuda"}) AddPlugin(name, "", backends);
  for (const std::string& name : ExtraPlugins()) AddPlugin(name, kPluginsVariable, backends);
  AddTools(backends);
  return backends;
}

BackendList LazyBackends() {
  BackendList backends;
  backends.push_back(MakeHostBackend());
  for (const std::string& name : ExtraPlugins()) {
    backends.push_back(std::make_unique<PluginBackend>(name));
  }
  for (const char* name : {"opencl", "cuda"}) {
    backends.push_back(std::make_unique<PluginBackend>(name));
  }
  for (auto& tool : LoadTools().list) backends.push_back(std::move(tool));
  return backends;
}

int OrdinalOf(std::string_view device_spec) {
  const size_t colon = device_spec.find(':');
  if (colon == std::string_view::npos) return 0;
  const std::string_view digits = device_spec.substr(colon + 1);
  int ordinal = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? ordinal : 0;
}

SelectOptions SelectionAt(const Place& place) {
  SelectOptions options;
  for (const auto& solver : place.backend->solvers()) options.known_solvers.push_back(solver->id());
  return options;
}

Result<Place> FindPlace(const BackendList& backends, const std::string& device_spec) {
  ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(backends, device_spec));
  for (const DeviceReport& device : backend->Devices()) {
    if (device.spec != device_spec) continue;
    if (!device.reason.empty()) {
      return Unavailable(
          fmt::format("The device '{}' cannot be used: {}", device_spec, device.reason));
    }
    Place place{backend,         device_spec,       device.target, backend->DescribeEnvironment(),
                device.identity, device.cache_bytes};
    AddHost(place.environment);
    return place;
  }
  return NotFound(fmt::format("There is no device '{}'.", device_spec));
}

Status NoDeviceOf(const BackendList& backends, std::string_view kind) {
  std::string reasons;
  for (const auto& backend : backends) {
    if (backend->name() != kind) continue;
    for (const LibraryReport& library : backend->Libraries()) {
      const bool is_driver = library.name.ends_with("-driver");
      if (is_driver && !library.available) reasons += " " + library.missing;
    }
  }
  return NotFound(fmt::format(
      "There is no device of '{}' here.{} 'attune devices' lists what there is and what is "
      "missing.",
      kind, reasons));
}

Result<Place> FindPlaceToMeasure(const LoadedBackends& backends, const std::string& device_spec) {
  for (const LoadedBackends::Refusal& refusal : backends.refused) {
    if (!refusal.chosen_by.empty()) return NotHonoured(refusal.chosen_by, refusal.reason);
  }
  ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlace(backends.list, device_spec));
  ATTUNE_RETURN_IF_ERROR(CheckWaitPolicy(place.environment));
  for (const LibraryReport& library : place.backend->Libraries()) {
    if (library.available || library.chosen_by.empty()) continue;
    return NotHonoured(library.chosen_by, library.missing);
  }
  return place;
}

}  // namespace attune
