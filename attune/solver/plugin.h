// Shared objects that bring solvers or a whole backend, loaded only if their libraries are
// installed.
//
// A plug-in is a CMake MODULE library that defines `attune_plugin` below. It is built from the same
// tree as its host, so C++ types cross the boundary: a plug-in built from other headers of this
// interface is refused by their hash. Third-party plug-ins carry their vendor's prefix in every
// solver name.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "attune/base/status.h"
#include "attune/device/repeating_device.h"
#include "attune/problem/target.h"
#include "attune/solver/backend.h"
#include "attune/solver/fit_checker.h"
#include "attune/solver/interface_hash.h"
#include "attune/solver/state_keeper.h"

namespace attune {

// Version of the part that is read before the hash is compared: the entry point and the first two
// fields.
// 4: the hash.
inline constexpr int kPluginApiVersion = 4;

inline constexpr const char* kPluginPathVariable = "ATTUNE_PLUGIN_PATH";

// Every function may be null.
struct PluginDescription {
  int api_version = kPluginApiVersion;
  const char* interface_hash = kPluginInterfaceHash;
  const char* name = "";
  // Solvers for the host backend, best first, and the library that they call.
  SolverList (*make_solvers)() = nullptr;
  LibraryReport (*report)() = nullptr;
  // A backend of its own.
  std::unique_ptr<const Backend> (*make_backend)() = nullptr;
  // The target of a GPU that need not be present, for which the solvers of that backend compile, by
  // its name for compilers ("sm_90"). kNotFound lists the known names.
  Result<Target> (*target_of)(const std::string& arch) = nullptr;
  // The entry of Backend::Libraries() that compiles for it: another version or build of it compiles
  // another kernel.
  const char* toolchain = "";
};

// Loads the plug-in `name` (file attune_NAME.so) for the life of the process. Searches
// ATTUNE_PLUGIN_PATH, an absolute path, if it is set, else lib/attune of the installation or build
// tree that contains this code. kUnavailable gives the reason: the plug-in or a library that it
// links is missing, or it was built for another API version or other headers of the interface.
Result<const PluginDescription*> LoadPlugin(const std::string& name);

}  // namespace attune

extern "C" __attribute__((visibility("default"))) const attune::PluginDescription* attune_plugin();
