// An alternative to this processor for computing references, usually a device.
#pragma once

#include <functional>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// Trusted only as far as CheckReference checks.
class ReferenceMaker {
 public:
  virtual ~ReferenceMaker() = default;

  // Writes the reference of `problem` into the memory file `data_fd`, which ReferenceDraft::Map
  // maps: its inputs are there, and its reference is NaN. Calls `go_on` several times a second and
  // stops if it returns false. Once this has returned, only the caller writes to the file. After
  // any error the caller must compute the reference.
  virtual Status Make(const Problem& problem, int data_fd, const std::function<bool()>& go_on) = 0;

  // Reports that the result of the last Make is not used, with the reason.
  virtual void Distrust(const Status& reason) = 0;
};

}  // namespace attune
