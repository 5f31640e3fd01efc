#include "extensions/fleet/machine_wait.h"

#include <fmt/format.h>

namespace attune {

void MachineWait::Waits(int64_t now_ns) {
  if (begin_ns_ == 0) {
    begin_ns_ = now_ns;
    has_said_ = false;
  }
  if (has_said_ || now_ns - begin_ns_ < kToldNs) return;
  has_said_ = true;
  say_("Another process measures on this machine; waiting for it.");
}

void MachineWait::GoesOn(int64_t now_ns) {
  if (begin_ns_ != 0 && has_said_) {
    say_(fmt::format("The other process has let go of the machine; going on after {} s.",
                     (now_ns - begin_ns_) / 1'000'000'000));
  }
  Ends();
}

}  // namespace attune
