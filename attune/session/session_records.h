// The records of one session, as a RecordStore: measurements through it belong to the session, and
// the session's measurements from elsewhere are hidden.
#pragma once

#include <memory>

#include "attune/record/record_store.h"
#include "attune/session/session_store.h"

namespace attune {

// Borrows both stores. BeginSet fails as SessionStore::BeginSet does.
std::unique_ptr<RecordStore> RecordsOf(int64_t session_id, RecordStore& records,
                                       SessionStore& sessions);

}  // namespace attune
