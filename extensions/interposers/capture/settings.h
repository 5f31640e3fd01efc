// What of a program is to be captured, as `attune capture` says it in the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune::capture {

struct Settings {
  std::string spool;  // The folder of launches; empty: nothing is captured.
  // Names, of instances of a template also without its arguments; empty: all.
  std::vector<std::string> kernels;
  uint64_t first_launch = 0;  // Of each kernel, from 1; 0: the first that changes anything.
  uint64_t count = 1;         // Distinct launches of each kernel.
  uint64_t max_bytes = 0;     // Of all buffers of a launch together; 0: any.

  bool Wants(const std::string& kernel) const;
  // What hinders a launch whose buffers have `all_bytes` together, in words, or nothing.
  std::string Excess(uint64_t all_bytes) const;
};

// Read once. A number that is none turns capturing off, which is said.
const Settings& TheSettings();

// Whether anything is captured.
bool IsOn();

}  // namespace attune::capture
