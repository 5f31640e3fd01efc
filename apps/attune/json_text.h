// Values as JSON, the form of every verb's --json. Keys keep the order in which they are written.
#pragma once

#include <string>

#include "attune/library/json_line.h"
#include "attune/record/record.h"
#include "attune/record/select.h"
#include "attune/trial/trial.h"

namespace attune {

// DumpLine of several lines: indented by two blanks.
std::string Dump(const Json& json);

Json ToJson(const Measurement& measurement);
Json ToJson(const Failure& failure);
Json ToJson(const Trial& trial);
Json ToJson(const Choice& choice);
Json ToJson(const Environment& environment);
// "before" and "after", each with what is known or null.
Json ToJson(const SetConditions& conditions);

}  // namespace attune
