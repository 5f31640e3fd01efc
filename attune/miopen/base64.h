// Bytes as text, for lines and documents that have no room for every byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune::miopen {

std::string ToBase64(std::string_view bytes);
// Nothing for what ToBase64 would not write.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace attune::miopen
