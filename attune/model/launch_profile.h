// Launches of an operation as known before it runs: from a dry run, from a kernel of attune, from
// formulas, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune {

struct KernelLaunch {
  std::string signature;  // The kernel's name, as the library calls it.
  int64_t blocks = 0;     // In the grid.
  int64_t threads = 0;    // Per block.
  int64_t registers = 0;  // Per thread.
  int64_t shared_bytes = 0;
  int64_t blocks_per_multiprocessor = 0;  // That fit at a time; 0 if it is not known.

  friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

// In the order of launches; empty where nothing is known of them one by one.
struct LaunchProfile {
  std::vector<KernelLaunch> kernels;
  // How many there are, where that is all that is known; else 0.
  int64_t launches = 0;
  // The device's number; 0 if it is not known.
  int64_t multiprocessors = 0;
  // True if a dry run found the profile. A caller without a device cannot know it.
  bool needs_device = false;

  friend bool operator==(const LaunchProfile&, const LaunchProfile&) = default;
};

// Blocks over those that are resident at a time. Assumes that at least one block is resident.
double Waves(const KernelLaunch& launch, int64_t multiprocessors);

// Extents of the tile that a kernel's name says, as "tilesize128x64x8" and "_128x64_16x4_" do;
// zeros if it says none.
struct TileExtents {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;

  friend bool operator==(const TileExtents&, const TileExtents&) = default;
};
TileExtents TileOf(const std::string& signature);

}  // namespace attune
