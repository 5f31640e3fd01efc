// Environment variables.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace attune {

// What `variable` is set to; `otherwise` if it is not set, or to nothing.
inline std::string VariableOr(const char* variable, std::string_view otherwise) {
  const char* const value = std::getenv(variable);
  return std::string(value == nullptr || *value == '\0' ? otherwise : value);
}

}  // namespace attune
