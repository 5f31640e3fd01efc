// Queries and stores the conditions of a device around a final.
#pragma once

#include <optional>

#include "attune/base/status.h"
#include "attune/measure/block_timer.h"
#include "attune/record/record_store.h"
#include "attune/trial/device_conditions.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Nothing if the device reports none. If the query is disabled, the reason becomes a note of
// `report`.
std::optional<DeviceConditions> AskConditions(BlockTimer& timer, TuneReport& report);

// Stores them with the set of `report`, and adds a note if they held the clock back, or are
// impossible: then the set stays without. Fails as the store does.
Status KeepConditions(const SetConditions& conditions, RecordStore& store, TuneReport& report);

}  // namespace attune
