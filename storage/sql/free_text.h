// External text, which may be any bytes, as ASCII that every database stores unchanged.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune::sql {

// Printable ASCII stands for itself, but for '%'; every other byte is '%' and two upper-case
// hexadecimal digits. Not the escapes of canonical texts, which would make messages unreadable.
std::string FreeText(std::string_view bytes);

// The inverse. Nothing for a text that FreeText cannot produce.
std::optional<std::string> FromFreeText(std::string_view text);

}  // namespace attune::sql
