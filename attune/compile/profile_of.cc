#include "attune/compile/profile_of.h"

namespace attune {

LaunchProfile ProfileOf(std::span<const ObservedLaunch> launches, int64_t multiprocessors) {
  LaunchProfile profile;
  profile.multiprocessors = multiprocessors;
  for (const ObservedLaunch& launch : launches) {
    profile.kernels.push_back({launch.name, launch.blocks, launch.threads, launch.registers,
                               launch.shared_bytes, launch.blocks_per_multiprocessor});
  }
  return profile;
}

}  // namespace attune
