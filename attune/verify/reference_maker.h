// Somebody else who computes references: a device, above all.
#pragma once

#include <functional>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// Trusted no further than CheckReference goes.
class ReferenceMaker {
 public:
  virtual ~ReferenceMaker() = default;

  // Writes the reference of `problem` into the memory file `data_fd`, which ReferenceDraft::Map
  // maps: its inputs are there, and its reference is NaN. Asks `go_on` several times a second
  // whether to go on. Once this has returned, nobody but the caller writes to the file any more.
  // Any error means that the caller has to compute it.
  virtual Status Make(const Problem& problem, int data_fd, const std::function<bool()>& go_on) = 0;

  // What the last Make wrote is not used, for this reason.
  virtual void Distrust(const Status& reason) = 0;
};

}  // namespace attune
