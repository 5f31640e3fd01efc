#include "apps/attune/wait_notice.h"

#include <fmt/format.h>

#include "attune/base/steady_time.h"

namespace attune {

void WaitNotice::StillWaiting() {
  const int64_t now_ns = SteadyNowNs();
  if (begin_ns_ == 0) begin_ns_ = now_ns;
  if (has_said_ || now_ns - begin_ns_ < kNoticedNs) return;
  has_said_ = true;
  err_.Print(
      fmt::format("attune {}: Another process measures on this machine; waiting for it.\n", verb_));
  err_.Flush();
}

}  // namespace attune
