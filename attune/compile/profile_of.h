// What a device says of launches, as models read it.
#pragma once

#include <cstdint>
#include <span>

#include "attune/device/launch_observer.h"
#include "attune/model/launch_profile.h"

namespace attune {

LaunchProfile ProfileOf(std::span<const ObservedLaunch> launches, int64_t multiprocessors);

}  // namespace attune
