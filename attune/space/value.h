// The value of one parameter of a solver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace attune {

// Truths are the integers 0 and 1, as they are in expressions.
using ParameterValue = std::variant<int64_t, double, std::string>;

// "16", "0.5", "any": the text inside a candidate. Doubles print shortest round-trip with a '.' or
// an exponent; a string is [A-Za-z_:][A-Za-z0-9_.:+-]*, so that the three kinds cannot be confused.
std::string Text(const ParameterValue& value);
// The inverse: an integer, else a double, else a string. Total; check its result with IsWellFormed.
ParameterValue ParseParameterValue(std::string_view text);

// True if Text(value) reads back as `value`: doubles are finite, strings follow the grammar above.
bool IsWellFormed(const ParameterValue& value);

}  // namespace attune
