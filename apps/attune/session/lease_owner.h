// Owners of job leases.
#pragma once

#include <string>

namespace attune {

// The name of this process: user@host:namespace.boot:process.
std::string LeaseOwner();

// True if `owner` was another process of this user on this machine and has ended.
bool IsGone(const std::string& owner);

}  // namespace attune
