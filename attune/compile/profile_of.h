// Launches that a device reports, in the form that models read.
#pragma once

#include <cstdint>
#include <span>

#include "attune/device/launch_observer.h"
#include "attune/model/launch_profile.h"

namespace attune {

LaunchProfile ProfileOf(std::span<const ObservedLaunch> launches, int64_t multiprocessors);

}  // namespace attune
