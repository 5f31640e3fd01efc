#include "attune/tuner/reference_bound.h"

#include <cmath>

#include <fmt/format.h>

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

Status ReferenceBound::Exceeded() const {
  return DeadlineExceeded(fmt::format(
      "The reference that candidates are compared with takes about {:.0f} s or more, and {:.0f} s "
      "are left for it. A larger budget lets the problem be tuned, as does none.",
      std::ceil(static_cast<double>(expected_ns_) / 1e9), static_cast<double>(allowed_ns_) / 1e9));
}

}  // namespace attune
