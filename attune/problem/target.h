// Where a problem is solved: the kind of machine that a measurement is valid for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"

namespace attune {

// The device kind, without anything that changes from day to day (that is Environment). Two
// machines with equal targets may share records.
struct Target {
  std::string backend;  // Backend that runs candidates: "host", "opencl", "cuda", "fake".
  std::string device;   // Model as the device names itself, e.g. "AMD EPYC 9654" or "NVIDIA H200".
  std::string arch;     // Name for compilers: "x86-64-v4", "sm_90", "gfx90a".
  int compute_units = 0;  // Cores that this process may use, or multiprocessors.
  // Further must-match facts, sorted by key: "isa" for a CPU.
  std::map<std::string, std::string> properties;

  friend bool operator==(const Target&, const Target&) = default;
};

// `backend:device:arch:compute_units{key=value,...}`, characters outside [A-Za-z0-9 ._+-] escaped
// as %XX. docs/formats/environment.md.
std::string Text(const Target& target);
Result<Target> ParseTarget(std::string_view text);

// Other conditions that a measurement depended on: versions and build ids of libraries, driver,
// thread-wait policy, frequency policy, kernel, host name. Immutable once stored. Keys are dotted:
// "library.onednn", "policy.omp_wait", "host.kernel". docs/formats/environment.md lists them and
// how each is matched.
using Environment = std::map<std::string, std::string>;

// `key=value` lines, sorted, values escaped as in Target: the text that is stored and hashed.
std::string Text(const Environment& environment);
Result<Environment> ParseEnvironment(std::string_view text);

// Best rates that this device was seen to reach, for the roofline. 0 means unknown.
struct Peaks {
  double f32_flops = 0;  // Floating-point operations per second.
  double f64_flops = 0;
  double bytes_per_second = 0;  // From and to main memory.

  friend bool operator==(const Peaks&, const Peaks&) = default;
};

}  // namespace attune
