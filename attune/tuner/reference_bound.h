// Tells early that a reference will take longer than there is time for.
#pragma once

#include <cstdint>

#include "attune/base/status.h"

namespace attune {

// What is expected follows from the pace so far. Not thread-safe.
class ReferenceBound {
 public:
  // From `begin_ns` on, for `allowed_ns`; 0 allows everything.
  ReferenceBound(int64_t begin_ns, int64_t allowed_ns)
      : begin_ns_(begin_ns), allowed_ns_(allowed_ns) {}

  // At `now_ns` the share `done`, in [0, 1], is computed; 0 while inputs are made. False if the
  // whole is expected to take longer than is allowed. The pace counts after kProbeNs: the first
  // moments, with caches that are empty and threads that begin, say little.
  bool Admits(double done, int64_t now_ns);

  // What making inputs and reference takes in all; as of the last call of Admits.
  int64_t expected_ns() const { return expected_ns_; }

  // Why it was given up: kDeadlineExceeded.
  Status Exceeded() const;

  static constexpr int64_t kProbeNs = 200'000'000;

 private:
  const int64_t begin_ns_;
  const int64_t allowed_ns_;
  int64_t first_share_ns_ = 0;  // When the first share was seen, and how much it was.
  double first_share_ = 0;
  int64_t expected_ns_ = 0;
};

}  // namespace attune
