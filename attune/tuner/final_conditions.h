// What a device says of itself around a final, asked and kept.
#pragma once

#include <optional>

#include "attune/base/status.h"
#include "attune/measure/block_timer.h"
#include "attune/record/record_store.h"
#include "attune/trial/device_conditions.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Nothing if the device does not tell; a reason why it can no longer be asked is a note of
// `report`.
std::optional<DeviceConditions> AskConditions(BlockTimer& timer, TuneReport& report);

// Keeps them with the set of `report`, which says so if they held the clock back, or are
// impossible: then the set stays without. Fails as the store does.
Status KeepConditions(const SetConditions& conditions, RecordStore& store, TuneReport& report);

}  // namespace attune
