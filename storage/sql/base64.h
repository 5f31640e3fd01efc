// Bytes as texts (RFC 4648, with padding), which every database keeps as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune::sql {

// Behind what `text` has.
void AppendBase64(std::string_view bytes, std::string& text);
// Nothing for what AppendBase64 would not write: only full groups, padding at the end, no stray
// bits.
std::optional<std::string> ParseBase64(std::string_view text);

}  // namespace attune::sql
