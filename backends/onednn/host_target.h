// The targets that this plug-in computes for.
#pragma once

#include "attune/base/status.h"
#include "attune/problem/target.h"

namespace attune::onednn {

// Ok for the processor of a host; kUnsupported names the requested backend.
Status CheckHostTarget(const Target& target);

}  // namespace attune::onednn
