// Constraints that are functions in C++.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"

namespace attune {

// The value of `name` as an argument; an integer may become a real number.
template <class Argument>
Result<Argument> ArgumentFrom(const Expression::Lookup& lookup, const std::string& name) {
  static_assert(std::is_same_v<Argument, int64_t> || std::is_same_v<Argument, double> ||
                std::is_same_v<Argument, std::string>);
  const ParameterValue* const value = lookup(name);
  if (value == nullptr) return NotFound("'" + name + "' is not known.");
  if (const auto* same = std::get_if<Argument>(value)) return *same;
  if constexpr (std::is_same_v<Argument, double>) {
    if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  }
  return InvalidArgument("'" + name + "' is " + Text(*value) + ", which is of another kind.");
}

template <class... Arguments>
Constraint ConstraintOn(std::vector<std::string> names, std::string text,
                        std::function<bool(Arguments...)> holds) {
  assert(names.size() == sizeof...(Arguments));
  Constraint constraint;
  constraint.names = names;
  constraint.text = std::move(text);
  constraint.holds = [names = std::move(names),
                      holds = std::move(holds)](const Expression::Lookup& lookup) -> Result<bool> {
    const auto read = [&]<size_t... kPlaces>(std::index_sequence<kPlaces...>) {
      return std::tuple(ArgumentFrom<std::decay_t<Arguments>>(lookup, names[kPlaces])...);
    };
    const auto arguments = read(std::index_sequence_for<Arguments...>());
    Status status;
    const auto check = [&status](const auto& argument) {
      if (status.ok()) status = argument.status();
    };
    std::apply([&check](const auto&... each) { (check(each), ...); }, arguments);
    if (!status.ok()) return status;
    return std::apply([&holds](const auto&... each) { return holds(*each...); }, arguments);
  };
  return constraint;
}

// A constraint that is computed by `holds`, a function of the values of `names` in this order: of
// int64_t, double or std::string. `text` is for messages.
//
//   ConstraintOn({"block", "tile"}, "tile divides block",
//                [](int64_t block, int64_t tile) { return block % tile == 0; })
//
// REQUIRES: as many names as arguments. `holds` depends on its arguments alone.
template <class Holds>
Constraint ConstraintOn(std::vector<std::string> names, std::string text, Holds holds) {
  return ConstraintOn(std::move(names), std::move(text), std::function(std::move(holds)));
}

}  // namespace attune
