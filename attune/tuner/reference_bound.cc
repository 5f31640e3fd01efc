#include "attune/tuner/reference_bound.h"

namespace attune {

bool ReferenceBound::Admits(double done, int64_t now_ns) {
  const int64_t passed_ns = now_ns - begin_ns_;
  expected_ns_ = passed_ns;
  if (allowed_ns_ <= 0) return true;
  if (done > 0 && first_share_ == 0) {
    first_share_ns_ = now_ns;
    first_share_ = done;
  }
  const double since = done - first_share_;
  const int64_t since_ns = now_ns - first_share_ns_;
  if (first_share_ > 0 && since > 0 && since_ns >= kProbeNs) {
    expected_ns_ += static_cast<int64_t>((1 - done) * static_cast<double>(since_ns) / since);
  }
  return expected_ns_ <= allowed_ns_;
}

}  // namespace attune
