#include "backends/onednn/host_target.h"

namespace attune::onednn {

Status CheckHostTarget(const Target& target) {
  if (target.backend == "host") return Status::Ok();
  return Unsupported("oneDNN computes on the host here, not on backend '" + target.backend + "'.");
}

}  // namespace attune::onednn
