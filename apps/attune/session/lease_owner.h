// Who holds leases of jobs.
#pragma once

#include <string>

namespace attune {

// Of this process: user@host:namespace.boot:process.
std::string LeaseOwner();

// Whether `owner` was a process of this user beside this one, and is none now.
bool IsGone(const std::string& owner);

}  // namespace attune
