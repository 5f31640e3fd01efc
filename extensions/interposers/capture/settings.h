// The settings of a capture, which `attune capture` passes in the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune::capture {

struct Settings {
  std::string spool;  // The folder of launches; empty: off.
  // Names; a template instance also matches without its arguments. Empty: all.
  std::vector<std::string> kernels;
  uint64_t first_launch = 0;  // Per kernel, from 1; 0: the first that changes anything.
  uint64_t count = 1;         // Distinct launches of each kernel.
  uint64_t max_bytes = 0;     // All buffers of a launch together; 0: any.

  bool Wants(const std::string& kernel) const;
  // Why a launch with buffers of `all_bytes` together is not captured; empty if it can be.
  std::string Excess(uint64_t all_bytes) const;
};

// Read once. An invalid number turns capturing off, and is reported.
const Settings& TheSettings();

// True if capturing is on.
bool IsOn();

}  // namespace attune::capture
