// What is known at a place of the launches of candidates, for models of time.
#pragma once

#include <memory>

#include "attune/base/status.h"
#include "attune/model/launch_source.h"
#include "runtime/places.h"

namespace attune {

// Without its device, with the code that the kernel cache has. Borrows the backend. Shared: models
// of several operators ask the same one.
std::shared_ptr<const LaunchSource> LaunchesAt(const Place& place);

// The same after dry runs on the device, which is opened, and used by the thread that asks.
// kUnsupported where it does not tell what a call launches.
Result<std::shared_ptr<const LaunchSource>> DryRunsAt(const Place& place);

}  // namespace attune
