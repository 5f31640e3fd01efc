// Checks the struct_size of C interface structs, which may grow with releases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// Above the size of any release; a larger value was never initialized.
inline constexpr size_t kMostStructSize = 4096;

// Ok if `given` can be the size of the struct in a release; the first release had `least`. Every
// release ends a struct at a multiple of 8, so other sizes would cut a field in two. `fields_of`
// ("the options") and `set_with` ("ATTUNE_OPTIONS_INIT") are for the message.
Status CheckStructSize(size_t given, size_t least, std::string_view fields_of,
                       std::string_view set_with);

}  // namespace attune
