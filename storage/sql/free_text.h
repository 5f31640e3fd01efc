// Text from outside, which may be any bytes, as ASCII that every database keeps as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune::sql {

// Printable ASCII stands for itself, but for '%'; every other byte is '%' and two upper-case
// hexadecimal digits. Not the escapes of canonical texts, which would make messages unreadable.
std::string FreeText(std::string_view bytes);

// The inverse. Nothing for a text that FreeText does not write.
std::optional<std::string> FromFreeText(std::string_view text);

}  // namespace attune::sql
