// JSON documents of one line each.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace attune {

// Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

// `json` on one line, a newline at the end. Bytes that are not UTF-8 become U+FFFD: what libraries
// say may hold anything.
std::string DumpLine(const Json& json);

// Puts `bytes` into `object` under `field`: as they are where they are UTF-8, whatever they would
// do to a terminal. Else with U+FFFD for what is none, and all of them as `field`_hex, two
// lower-case hexadecimal digits for each.
void PutBytes(const std::string& field, std::string_view bytes, Json& object);

}  // namespace attune
