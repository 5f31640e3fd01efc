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

// What this process has now. Call while no other thread changes its environment. A process with
// more rights than its user (AT_SECURE: set-user-ID, file capabilities) has none: its user must not
// choose what such a process loads or writes.
ProcessVariables VariablesOfProcess();

// Takes attune's variables out of the environment of a process with more rights than its user, for
// libraries that read the environment themselves and for what this process starts. For programs,
// before they start a thread.
void DropVariablesOfUser();

// The value of `name`; nothing if it is not set.
std::optional<std::string> ValueOf(const ProcessVariables& variables, std::string_view name);

// What this process has for `name` now; `otherwise` if that is not set, or to nothing, or if the
// process has more rights than its user.
std::string VariableOr(const char* name, std::string_view otherwise);

}  // namespace attune
