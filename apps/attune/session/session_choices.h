// What a session has decided.
#pragma once

#include <map>
#include <string>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/session/session_store.h"

namespace attune {

// A decision, and what it depended on.
struct SessionChoice {
  Choice choice;
  Environment environment;
};

// The newest decision of each problem, by its text, whatever there is here now.
Result<std::map<std::string, SessionChoice>> ChoicesOf(const Session& session, RecordStore& records,
                                                       SessionStore& sessions);

}  // namespace attune
