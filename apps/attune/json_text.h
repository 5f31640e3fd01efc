// Values as JSON, the form of every verb's --json. Keys keep the order in which they are written.
#pragma once

#include <string>

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

Json ToJson(const Measurement& measurement);
Json ToJson(const Failure& failure);
Json ToJson(const Trial& trial);
Json ToJson(const Choice& choice);
Json ToJson(const Environment& environment);
// "before" and "after", each with what is known or null.
Json ToJson(const SetConditions& conditions);

}  // namespace attune
