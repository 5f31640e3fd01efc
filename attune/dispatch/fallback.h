// Computes a device's problems somewhere else while nothing of the device is compiled.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

// Thread-safe.
class Fallback {
 public:
  virtual ~Fallback() = default;

  // What would compute `problem` at once, with nothing compiled and nothing slow created; nothing
  // if nobody there computes it.
  virtual std::optional<Candidate> For(const Problem& problem) const = 0;
  // Takes operands of the device that it stands in for; what was computed is there when Run
  // returns.
  virtual Result<std::unique_ptr<Executable>> Load(const Problem& problem,
                                                   const Candidate& candidate) = 0;
  // One sentence on where and how it computes.
  virtual std::string because() const = 0;
};

}  // namespace attune
