// The environment of a process as a value, so that tests of its readers need no environment.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

// Values by name.
using ProcessVariables = std::map<std::string, std::string, std::less<>>;

// The current environment. Call while no other thread changes it. Empty in a process with more
// rights than its user (AT_SECURE: set-user-ID, file capabilities). The user must not choose what
// such a process loads or writes.
ProcessVariables VariablesOfProcess();

// Removes attune's variables from the environment of a process with more rights than its user. This
// protects child processes and libraries that read the environment themselves. For programs, before
// they start a thread.
void DropVariablesOfUser();

// The value of `name`; nothing if it is not set.
std::optional<std::string> ValueOf(const ProcessVariables& variables, std::string_view name);

// The current value of `name`. Returns `otherwise` if the variable is unset or empty, or if the
// process has more rights than its user.
std::string VariableOr(const char* name, std::string_view otherwise);

}  // namespace attune
