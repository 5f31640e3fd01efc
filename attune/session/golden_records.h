// The records that a golden version rests on, as a RecordStore: every verb that chooses, explains
// or exports from records does so from a golden version.
#pragma once

#include <memory>
#include <vector>

#include "attune/record/record_store.h"
#include "attune/session/golden.h"

namespace attune {

// Borrows `records`. Shows the sets of `entries` and nothing else, and takes nothing:
// kFailedPrecondition for everything that writes.
std::unique_ptr<RecordStore> RecordsOf(const std::vector<GoldenEntry>& entries,
                                       RecordStore& records);

}  // namespace attune
