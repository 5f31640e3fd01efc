// One choice for every parameter of a solver.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/space/value.h"

namespace attune {

// Parameter name -> value, sorted by name, which makes the text canonical.
using Config = std::map<std::string, ParameterValue, std::less<>>;

// True if `name` is [A-Za-z_][A-Za-z0-9_]*.
bool IsParameterName(std::string_view name);

// `key=value,...`; empty for no parameters.
std::string Text(const Config& config);
// The inverse, parameters in any order. The error names the column (1-based).
Result<Config> ParseConfig(std::string_view text);

// The integer or string parameter `name`. REQUIRES: it exists and has that type; solvers read only
// configs out of their own space, and foreign ones are checked with ConfigSpace::IndexOf first.
int64_t IntegerAt(const Config& config, std::string_view name);
const std::string& StringAt(const Config& config, std::string_view name);

}  // namespace attune
