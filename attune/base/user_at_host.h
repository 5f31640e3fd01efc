// The user of this process, for records that name the user of a measurement or import.
#pragma once

#include <string>

namespace attune {

// "user@host"; the number of the user if it has no name. Thread-safe.
std::string UserAtHost();

}  // namespace attune
