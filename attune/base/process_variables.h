// The environment of a process as a value, so that what reads it can be tested without one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

// Values by name.
using ProcessVariables = std::map<std::string, std::string, std::less<>>;

// What this process has now. Call while no other thread changes its environment.
ProcessVariables VariablesOfProcess();

// The value of `name`; nothing if it is not set.
std::optional<std::string> ValueOf(const ProcessVariables& variables, std::string_view name);

// What this process has for `name` now; `otherwise` if that is not set, or to nothing.
std::string VariableOr(const char* name, std::string_view otherwise);

}  // namespace attune
