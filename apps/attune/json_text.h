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
// With the rates of its time.
Json ToJson(const Choice& choice);
Json ToJson(const Environment& environment);
// Appends "flops_per_second" and "bytes_per_second" of `problem` in `time_ns`, null if unknown.
void AddRates(const Problem& problem, double time_ns, Json& json);
// "before" and "after", each with the known values or null.
Json ToJson(const SetConditions& conditions);

}  // namespace attune
