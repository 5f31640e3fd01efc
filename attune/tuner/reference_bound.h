// Predicts early that a reference will take longer than the time that is left.
#pragma once

#include <cstdint>

#include "attune/base/status.h"

namespace attune {

// Extrapolates from the pace so far. Not thread-safe.
class ReferenceBound {
 public:
  // From `begin_ns` on, for `allowed_ns`; 0 allows everything.
  ReferenceBound(int64_t begin_ns, int64_t allowed_ns)
      : begin_ns_(begin_ns), allowed_ns_(allowed_ns) {}

  // At `now_ns` the share `done`, in [0, 1], is computed; 0 while inputs are made. False if the
  // total is expected to exceed the allowed time. The pace counts after kProbeNs: the first
  // moments, with empty caches and starting threads, predict little.
  bool Admits(double done, int64_t now_ns);

  // Expected total time of making inputs and reference; as of the last call of Admits.
  int64_t expected_ns() const { return expected_ns_; }

  // The reason for giving up: kDeadlineExceeded.
  Status Exceeded() const;

  static constexpr int64_t kProbeNs = 200'000'000;

 private:
  const int64_t begin_ns_;
  const int64_t allowed_ns_;
  int64_t first_share_ns_ = 0;  // Time and amount of the first share.
  double first_share_ = 0;
  int64_t expected_ns_ = 0;
};

}  // namespace attune
