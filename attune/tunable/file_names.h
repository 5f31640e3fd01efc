// The names of results and untuned files.
#pragma once

#include <string>
#include <string_view>

namespace attune {

// `name` with `text` in place of the first "%d", else before the last '.' of its last component,
// else at its end. A '.' that a component begins with does not count.
std::string WithInsertion(std::string_view name, std::string_view text);

// `name` with the ordinal of a device inserted.
std::string WithOrdinal(std::string_view name, int ordinal);

}  // namespace attune
