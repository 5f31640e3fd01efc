// The records of one session, as a RecordStore: what is measured through it belongs to the session,
// and what it has measured elsewhere is not seen.
#pragma once

#include <memory>

#include "attune/record/record_store.h"
#include "attune/session/session_store.h"

namespace attune {

// Borrows both stores. BeginSet fails as SessionStore::BeginSet does.
std::unique_ptr<RecordStore> RecordsOf(int64_t session_id, RecordStore& records,
                                       SessionStore& sessions);

}  // namespace attune
