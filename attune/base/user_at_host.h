// Who runs this process, for records of who measured or imported something.
#pragma once

#include <string>

namespace attune {

// "user@host"; the number of the user if it has no name. Thread-safe.
std::string UserAtHost();

}  // namespace attune
