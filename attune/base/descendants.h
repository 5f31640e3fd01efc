// The processes that a process has started, with those that they have started in turn.
#pragma once

#include <sys/types.h>

#include <functional>

namespace attune {

// Calls `visit` with each process that descends from `ancestor`, by its parent and theirs, as soon
// as it is found, once; those that have ended and were not waited for are none. Where a process
// ends meanwhile, what it had started may be missed: ask again.
void VisitDescendants(pid_t ancestor, const std::function<void(pid_t)>& visit);

}  // namespace attune
