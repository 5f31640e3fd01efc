// Values as JSON, the form of every verb's --json. Keys keep the order in which they are written.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "attune/record/record.h"
#include "attune/record/select.h"
#include "attune/trial/trial.h"

namespace attune {

using Json = nlohmann::ordered_json;

// Indented by two blanks, a newline at the end. Bytes that are not UTF-8 become U+FFFD: what
// libraries say may hold anything.
std::string Dump(const Json& json);
// The same on one line, for one of several documents after each other (JSON lines).
std::string DumpLine(const Json& json);

// Puts `bytes` into `object` under `field`: as they are where they are UTF-8, whatever they would
// do to a terminal. Else with U+FFFD for what is none, and all of them as `field`_hex, two
// lower-case hexadecimal digits for each.
void PutBytes(const std::string& field, std::string_view bytes, Json& object);

Json ToJson(const Measurement& measurement);
Json ToJson(const Failure& failure);
Json ToJson(const Trial& trial);
Json ToJson(const Choice& choice);
Json ToJson(const Environment& environment);
// "before" and "after", each with what is known or null.
Json ToJson(const SetConditions& conditions);

}  // namespace attune
