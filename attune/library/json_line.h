// JSON documents of one line each.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace attune {

// Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

// `json` on one line, a newline at the end. Bytes that are not UTF-8 become U+FFFD: messages of
// libraries may hold anything.
std::string DumpLine(const Json& json);

// Puts `bytes` into `object` under `field`: unchanged if they are UTF-8, even if they hold control
// sequences of terminals. Otherwise with U+FFFD for invalid bytes, and all bytes as `field`_hex,
// two lower-case hexadecimal digits for each.
void PutBytes(const std::string& field, std::string_view bytes, Json& object);

}  // namespace attune
