#include "attune/base/process_variables.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace attune {

ProcessVariables VariablesOfProcess() {
  ProcessVariables variables;
  if (::getauxval(AT_SECURE) != 0) return variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

void DropVariablesOfUser() {
  if (::getauxval(AT_SECURE) == 0) return;
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("ATTUNE_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

std::optional<std::string> ValueOf(const ProcessVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return found->second;
}

std::string VariableOr(const char* name, std::string_view otherwise) {
  const char* const value = ::secure_getenv(name);
  return std::string(value == nullptr || *value == '\0' ? otherwise : value);
}

}  // namespace attune
