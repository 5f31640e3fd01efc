#include "attune/compile/default_kernel_cache.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/process_variables.h"
#include "attune/compile/layered_kernel_cache.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

OpenedKernelCache OpenOwn() {
  OpenedKernelCache opened;
  const auto folder = DefaultKernelCacheFolder();
  opened.kept = folder.ok() ? Status::Ok() : folder.error();
  if (folder.ok()) {
    auto cache = FolderKernelCache::Open(*folder);
    if (cache.ok()) {
      opened.cache = *std::move(cache);
      return opened;
    }
    opened.kept = Status(cache.error().code(), fmt::format("{} XDG_CACHE_HOME decides where it is.",
                                                           cache.error().message()));
  }
  opened.cache = std::make_unique<MemoryKernelCache>();
  return opened;
}

}  // namespace

Result<fs::path> DefaultKernelCacheFolder() {
  const std::string cache_home = VariableOr("XDG_CACHE_HOME", "");
  if (cache_home.starts_with('/')) return fs::path(cache_home) / "attune" / "kernels";
  const std::string home = VariableOr("HOME", "");
  if (home.starts_with('/')) return fs::path(home) / ".cache" / "attune" / "kernels";
  return FailedPrecondition(
      "There is no folder for the kernel cache: neither XDG_CACHE_HOME nor HOME is an absolute "
      "path. "
      "Set one of them, or name a folder.");
}

std::vector<fs::path> InstalledKernelFolders() {
  const auto prefix = InstallationFolder();
  if (!prefix.ok()) return {};
  return {*prefix / "share/attune/built"};
}

OpenedKernelCache OpenDefaultKernelCache() {
  OpenedKernelCache opened = OpenOwn();
  for (const fs::path& folder : InstalledKernelFolders()) {
    // A user with write access there could also replace the programs, and an entry has the hash of
    // its code.
    auto built =
        PackagedKernels::Open(folder, [](const std::string&, std::string_view) { return true; });
    if (built.ok()) {
      std::vector<std::unique_ptr<KernelCache>> layers;
      layers.push_back(*std::move(built));
      opened.cache =
          std::make_unique<LayeredKernelCache>(std::move(opened.cache), std::move(layers));
      return opened;
    }
    if (built.error().code() != StatusCode::kNotFound) opened.installed = built.error();
  }
  return opened;
}

}  // namespace attune
