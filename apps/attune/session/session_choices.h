// Decisions of a session.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/session/session_store.h"

namespace attune {

// A decision, and the state it depended on.
struct SessionChoice {
  Choice choice;
  Environment environment;
  int64_t started_unix_ns = 0;  // Start of its set.
};

// The text of a problem, and the state of the caches with which it was measured: times of different
// states are of different things.
using SessionQuestion = std::pair<std::string, CacheState>;

// The newest decision of each, independent of the devices here now.
Result<std::map<SessionQuestion, SessionChoice>> ChoicesOf(const Session& session,
                                                           RecordStore& records,
                                                           SessionStore& sessions);

}  // namespace attune
