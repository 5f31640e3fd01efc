// Bytes as the texts that JSON has room for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune::fin {

std::string ToBase64(std::string_view bytes);
// Nothing for what ToBase64 would not write.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace attune::fin
