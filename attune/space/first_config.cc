#include "attune/space/first_config.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace attune {
namespace {

// Goes through the parameters in order, and back where none of the values of one is allowed.
class Search {
 public:
  explicit Search(const SpaceDescription& description)
      : parameters_(description.parameters),
        constants_(description.constants),
        chosen_(parameters_.size(), 0),
        decided_at_(parameters_.size() + 1) {}

  // Constraints count at the last parameter that they read; those that read none, after all.
  Status Add(const Constraint& constraint) {
    std::optional<size_t> last;
    for (const std::string& name : constraint.names) {
      const auto read = std::find_if(parameters_.begin(), parameters_.end(),
                                     [&](const Parameter& at) { return at.name == name; });
      if (read != parameters_.end()) {
        last = std::max(last.value_or(0), static_cast<size_t>(read - parameters_.begin()));
      } else if (!constants_.contains(name)) {
        return NotFound(fmt::format(
            "Constraint '{}' reads '{}', which is neither a parameter of the space nor a constant.",
            constraint.text, name));
      }
    }
    decided_at_[last.value_or(parameters_.size())].push_back(&constraint);
    return Status::Ok();
  }

  Result<Config> Run(int64_t most_checks) {
    size_t level = 0;
    int64_t checks = 0;
    while (level < parameters_.size()) {
      if (++checks > most_checks) {
        return ResourceExhausted(
            fmt::format("The first config was not found after {} checks.", most_checks));
      }
      if (chosen_[level] == parameters_[level].values.size()) {
        if (level == 0) return NoneIsValid();
        chosen_[level--] = 0;
        ++chosen_[level];
        continue;
      }
      if (Allowed(level)) {
        ++level;
      } else {
        ++chosen_[level];
      }
    }
    if (!Allowed(level)) return NoneIsValid();
    Config config;
    for (size_t i = 0; i < parameters_.size(); ++i) config.emplace(parameters_[i].name, ValueAt(i));
    return config;
  }

 private:
  const ParameterValue& ValueAt(size_t i) const { return parameters_[i].values[chosen_[i]]; }

  Status NoneIsValid() const {
    if (!failure_.ok()) return failure_;
    if (refused_by_ == nullptr) return InvalidArgument("No config of the space is valid.");
    return InvalidArgument(fmt::format(
        "No config of the space is valid: '{}' forbids those that are left.", refused_by_->text));
  }

  // A constraint that cannot be evaluated refuses: another one may refuse the same later, and
  // then the space is valid nevertheless.
  bool Allowed(size_t level) {
    const auto lookup = [this](std::string_view name) -> const ParameterValue* {
      for (size_t i = 0; i < parameters_.size(); ++i) {
        if (parameters_[i].name == name) return &ValueAt(i);
      }
      const auto constant = constants_.find(name);
      return constant == constants_.end() ? nullptr : &constant->second;
    };
    for (const Constraint* constraint : decided_at_[level]) {
      const Result<bool> holds = constraint->holds(lookup);
      if (!holds.ok() && failure_.ok()) failure_ = holds.error();
      if (holds.ok() && *holds) continue;
      if (level >= deepest_) refused_by_ = constraint;
      deepest_ = std::max(deepest_, level);
      return false;
    }
    return true;
  }

  const std::vector<Parameter>& parameters_;
  const Config& constants_;
  std::vector<size_t> chosen_;  // Positions of values.
  std::vector<std::vector<const Constraint*>> decided_at_;
  Status failure_;  // The first one of a constraint.
  // The last constraint that refused a value of the last parameter that was reached.
  const Constraint* refused_by_ = nullptr;
  size_t deepest_ = 0;
};

}  // namespace

Result<Config> FirstConfig(const SpaceDescription& description, int64_t most_checks) {
  Search search(description);
  for (const Constraint& constraint : description.constraints) {
    ATTUNE_RETURN_IF_ERROR(search.Add(constraint));
  }
  return search.Run(most_checks);
}

Result<bool> HasConfig(const SpaceDescription& description, const Config& config) {
  if (config.size() != description.parameters.size()) return false;
  for (const Parameter& parameter : description.parameters) {
    const auto given = config.find(parameter.name);
    if (given == config.end()) return false;
    const auto value = std::find(parameter.values.begin(), parameter.values.end(), given->second);
    if (value == parameter.values.end()) return false;
  }
  const auto lookup = [&](std::string_view name) -> const ParameterValue* {
    if (const auto given = config.find(name); given != config.end()) return &given->second;
    const auto constant = description.constants.find(name);
    return constant == description.constants.end() ? nullptr : &constant->second;
  };
  // A constraint that cannot be evaluated matters only where no other refuses the config.
  Status failure;
  for (const Constraint& constraint : description.constraints) {
    const Result<bool> holds = constraint.holds(lookup);
    if (holds.ok() && !*holds) return false;
    if (!holds.ok() && failure.ok()) failure = holds.error();
  }
  if (!failure.ok()) return failure;
  return true;
}

}  // namespace attune
