#include "runtime/compile_place.h"

#include <utility>

#include <fmt/format.h>

#include "attune/solver/plugin.h"

namespace attune {
namespace {

CompilePlace PlaceOf(const PluginDescription& plugin, Target target) {
  CompilePlace place{plugin.make_backend(), std::move(target), {}};
  for (LibraryReport& report : place.backend->Libraries()) {
    if (report.name == plugin.toolchain) place.toolchain = std::move(report);
  }
  return place;
}

}  // namespace

Result<CompilePlace> FindCompilePlace(const std::string& arch) {
  std::string reasons;
  for (const char* name : {"cuda", "hip"}) {
    const auto plugin = LoadPlugin(name);
    if (!plugin.ok()) {
      reasons += " " + plugin.error().message();
      continue;
    }
    if ((*plugin)->target_of == nullptr) continue;
    Result<Target> target = (*plugin)->target_of(arch);
    if (target.ok()) return PlaceOf(**plugin, *std::move(target));
    reasons += " " + target.error().message();
  }
  return NotFound(fmt::format("No kernels can be built for '{}'.{}", arch, reasons));
}

std::vector<std::unique_ptr<const Backend>> CompileOnlyBackends() {
  std::vector<std::unique_ptr<const Backend>> backends;
  const auto plugin = LoadPlugin("hip");
  if (plugin.ok()) backends.push_back((*plugin)->make_backend());
  return backends;
}

}  // namespace attune
