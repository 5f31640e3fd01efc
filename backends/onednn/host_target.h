// Which targets this plug-in computes for.
#pragma once

#include "attune/base/status.h"
#include "attune/problem/target.h"

namespace attune::onednn {

// Ok for the processor of a host; kUnsupported names the backend that was asked for instead.
Status CheckHostTarget(const Target& target);

}  // namespace attune::onednn
