// %XX escapes for free text inside the canonical texts of problems, targets and environments.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune {

// True if `c` needs no escape: [A-Za-z0-9 ._+-].
bool IsPlain(char c);

// Appends `value` to `text`, every byte that is not plain as '%' and two upper-case hexadecimal
// digits.
void AppendEscaped(std::string_view value, std::string& text);
std::string Escaped(std::string_view value);

// The inverse; accepts lower-case digits. Nothing if a byte is neither plain nor part of an escape.
std::optional<std::string> Unescaped(std::string_view text);

}  // namespace attune
