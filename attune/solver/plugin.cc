#include "attune/solver/plugin.h"

#include <dlfcn.h>

#include <string_view>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/exit_gate.h"
#include "attune/base/import_check.h"
#include "attune/base/new_libraries.h"
#include "attune/base/path_variable.h"

namespace attune {
namespace {

Result<std::filesystem::path> PluginFolder() {
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path chosen, CodePathIn(kPluginPathVariable));
  if (!chosen.empty()) return chosen;
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path prefix, InstallationFolder());
  return prefix / "lib/attune";
}

// Nothing else of a plug-in may be touched before: where a class has another layout, that crashes.
Status CheckInterface(const std::filesystem::path& path, const PluginDescription& description) {
  if (description.api_version != kPluginApiVersion) {
    return Unavailable(fmt::format("{} has plug-in API version {}, this program needs {}.",
                                   path.string(), description.api_version, kPluginApiVersion));
  }
  if (std::string_view(description.interface_hash) == kPluginInterfaceHash) return Status::Ok();
  return Unavailable(
      fmt::format("{} was built from other headers of the plug-in interface (hash {}) than this "
                  "program ({}). Build or install both together.",
                  path.string(), description.interface_hash, kPluginInterfaceHash));
}

}  // namespace

Result<const PluginDescription*> LoadPlugin(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return InvalidArgument(fmt::format("'{}' is a path, not the name of a plug-in.", name));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path folder, PluginFolder());
  const std::filesystem::path path = folder / ("attune_" + name + ".so");
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return Unavailable(fmt::format("Plug-in '{}' was not built or installed: {} does not exist.",
                                   name, path.string()));
  }
  const NewLibraries libraries;
  // Never closed: solvers and threads of the library behind them use it until the process ends.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Unavailable(fmt::format("Cannot load {}.", ::dlerror()));
  // Before anything of its libraries is called.
  libraries.KeepStaticObjects();
  ExitGate::Guard();
  using Entry = const PluginDescription* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, "attune_plugin"));
  if (entry == nullptr) {
    return Unavailable(fmt::format("{} does not export attune_plugin.", path.string()));
  }
  ATTUNE_RETURN_IF_ERROR(CheckImports(reinterpret_cast<const void*>(entry)));
  const PluginDescription* description = entry();
  ATTUNE_RETURN_IF_ERROR(CheckInterface(path, *description));
  return description;
}

}  // namespace attune
