#include "attune/solver/plugin.h"

#include <dlfcn.h>

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/process_variables.h"

namespace attune {
namespace {

// Beside libattune.so; from bin/; from libexec/attune/.
std::vector<std::filesystem::path> PluginFolders() {
  if (const std::string chosen = VariableOr(kPluginPathVariable, ""); !chosen.empty()) {
    return {chosen};
  }
  std::vector<std::filesystem::path> folders;
  if (const auto folder = FolderOfThisCode(); !folder.empty()) {
    folders = {folder / "attune", folder / "../lib/attune", folder / "../../lib/attune"};
  }
  folders.push_back(ATTUNE_BUILD_PLUGIN_DIR);
  return folders;
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
  const std::string file = "attune_" + name + ".so";
  std::string tried;
  for (const auto& folder : PluginFolders()) {
    const auto path = folder / file;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      tried += fmt::format(" {} does not exist.", path.string());
      continue;
    }
    // Never closed: solvers, and the threads of the library behind them, live as long as the
    // process.
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Unavailable(fmt::format("Cannot load {}.", ::dlerror()));
    using Entry = const PluginDescription* (*)();
    const auto entry = reinterpret_cast<Entry>(::dlsym(library, "attune_plugin"));
    if (entry == nullptr) {
      return Unavailable(fmt::format("{} does not export attune_plugin.", path.string()));
    }
    const PluginDescription* description = entry();
    ATTUNE_RETURN_IF_ERROR(CheckInterface(path, *description));
    return description;
  }
  return Unavailable(fmt::format("Plug-in '{}' was not built or installed:{}", name, tried));
}

}  // namespace attune
