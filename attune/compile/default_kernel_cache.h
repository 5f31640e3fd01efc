// The cache that every program works with.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "attune/base/status.h"
#include "attune/compile/kernel_cache.h"

namespace attune {

// $XDG_CACHE_HOME/attune/kernels, else $HOME/.cache/attune/kernels; kFailedPrecondition if neither
// variable is set to an absolute path.
Result<std::filesystem::path> DefaultKernelCacheFolder();

// Where kernels lie that were compiled when attune was installed (`attune build --every-kernel
// --into`): share/attune/built of the installation that this code is in. Need not exist.
std::vector<std::filesystem::path> InstalledKernelFolders();

// A usable cache, for any state of the folders.
struct OpenedKernelCache {
  std::unique_ptr<KernelCache> cache;  // Never null.
  // Ok, or why nothing that is compiled outlasts the process: a sentence for its user.
  Status kept;
  // Ok, also if none are installed, or why those that are are not used.
  Status installed;
};

// The default folder, or memory if there is none or it is refused; beneath it the installed
// kernels.
OpenedKernelCache OpenDefaultKernelCache();

}  // namespace attune
