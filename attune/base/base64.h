// Bytes as text (RFC 4648, with padding), for formats that do not hold every byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune {

std::string ToBase64(std::string_view bytes);
// Nothing for text that ToBase64 would not write.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace attune
