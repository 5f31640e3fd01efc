// Structs of the C interface that may grow: whether their struct_size can be one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// More than any release will have: what is larger was never set.
inline constexpr size_t kMostStructSize = 4096;

// Whether `given` can be the size of a struct of some release whose first one had `least`. Every
// release ends a struct at a multiple of 8, so what is in between would cut a field in two.
// `fields_of` ("the options") and `set_with` ("ATTUNE_OPTIONS_INIT") are for the message.
Status CheckStructSize(size_t given, size_t least, std::string_view fields_of,
                       std::string_view set_with);

}  // namespace attune
