#include "attune/space/space_builder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace attune {
namespace {

// A constraint with its names resolved.
struct BoundConstraint {
  const Constraint* constraint = nullptr;
  std::vector<size_t> parameters;  // That it reads and that have a choice, ascending.
  Expression::Lookup lookup;
};

class Builder {
 public:
  Builder(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints,
          const Config& constants)
      : parameters_(parameters), constraints_(constraints), constants_(constants) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Result<std::vector<Component>> Build() {
    ATTUNE_RETURN_IF_ERROR(CheckNames());
    // Complete before Bind takes addresses of its elements.
    for (const Parameter& parameter : parameters_) current_.push_back(&parameter.values.front());
    for (const Constraint& constraint : constraints_) ATTUNE_RETURN_IF_ERROR(Bind(constraint));
    ATTUNE_RETURN_IF_ERROR(CheckFixed());
    std::vector<Component> components = Partition();
    for (Component& component : components) ATTUNE_RETURN_IF_ERROR(Enumerate(component));
    return components;
  }

 private:
  Status CheckNames() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& parameter = parameters_[i];
      if (!IsParameterName(parameter.name)) {
        return InvalidArgument(
            fmt::format("Parameter name '{}' is not [A-Za-z_][A-Za-z0-9_]*.", parameter.name));
      }
      if (!index_of_.emplace(parameter.name, i).second || constants_.contains(parameter.name)) {
        return InvalidArgument(fmt::format("Parameter '{}' is defined twice.", parameter.name));
      }
      ATTUNE_RETURN_IF_ERROR(CheckValues(parameter));
    }
    return Status::Ok();
  }

  static Status CheckValues(const Parameter& parameter) {
    if (parameter.values.empty()) {
      return InvalidArgument(fmt::format("Parameter '{}' has no values.", parameter.name));
    }
    std::set<ParameterValue> seen;
    for (const ParameterValue& value : parameter.values) {
      if (!IsWellFormed(value)) {
        return InvalidArgument(
            fmt::format("A value of parameter '{}' is neither a finite number nor a word of "
                        "[A-Za-z_:][A-Za-z0-9_.:+-]*.",
                        parameter.name));
      }
      if (!seen.insert(value).second) {
        return InvalidArgument(
            fmt::format("Parameter '{}' has the value {} twice.", parameter.name, Text(value)));
      }
    }
    return Status::Ok();
  }

  Status Bind(const Constraint& constraint) {
    BoundConstraint bound;
    bound.constraint = &constraint;
    std::vector<std::pair<std::string_view, const ParameterValue* const*>> slots;
    for (const std::string& name : constraint.names) {
      if (const auto found = index_of_.find(name); found != index_of_.end()) {
        slots.emplace_back(name, &current_[found->second]);
        if (parameters_[found->second].values.size() > 1) bound.parameters.push_back(found->second);
      } else if (!constants_.contains(name)) {
        return NotFound(
            fmt::format("Constraint '{}' reads '{}', which is neither a parameter nor a "
                        "constant of the space.",
                        constraint.text, name));
      }
    }
    std::sort(bound.parameters.begin(), bound.parameters.end());
    const auto last = std::unique(bound.parameters.begin(), bound.parameters.end());
    bound.parameters.erase(last, bound.parameters.end());
    bound.lookup = [this, slots = std::move(slots)](std::string_view name) {
      for (const auto& [slot_name, slot] : slots) {
        if (slot_name == name) return *slot;
      }
      const auto constant = constants_.find(name);
      return constant == constants_.end() ? nullptr : &constant->second;
    };
    bound_.push_back(std::move(bound));
    return Status::Ok();
  }

  Result<bool> Holds(const BoundConstraint& bound) {
    Result<bool> holds = bound.constraint->holds(bound.lookup);
    if (holds.ok()) return holds;
    return holds.error().WithContext(fmt::format("Constraint '{}' cannot be evaluated at {{{}}}",
                                                 bound.constraint->text, Seen(bound)));
  }

  // The values that `bound` reads now.
  std::string Seen(const BoundConstraint& bound) const {
    Config config;
    for (const std::string& name : bound.constraint->names) {
      if (const ParameterValue* const value = bound.lookup(name)) config.emplace(name, *value);
    }
    return Text(config);
  }

  static Status Empty(std::string_view text) {
    return InvalidArgument(
        fmt::format("No config is valid: constraint '{}' refuses the last ones.", text));
  }

  // Constraints that no choice can change.
  Status CheckFixed() {
    for (const BoundConstraint& bound : bound_) {
      if (!bound.parameters.empty()) continue;
      ATTUNE_ASSIGN_OR_RETURN(const bool holds, Holds(bound));
      if (!holds) return Empty(bound.constraint->text);
    }
    return Status::Ok();
  }

  size_t Root(std::vector<size_t>& parents, size_t i) const {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
  }

  std::vector<Component> Partition() const {
    std::vector<size_t> parents(parameters_.size());
    std::iota(parents.begin(), parents.end(), size_t{0});
    for (const BoundConstraint& bound : bound_) {
      for (const size_t parameter : bound.parameters) {
        // The smaller index becomes the root, so components are ordered by their first parameter.
        const size_t a = Root(parents, bound.parameters.front());
        const size_t b = Root(parents, parameter);
        parents[std::max(a, b)] = std::min(a, b);
      }
    }
    std::map<size_t, Component> by_root;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].values.size() > 1) by_root[Root(parents, i)].parameters.push_back(i);
    }
    std::vector<Component> components;
    for (auto& [root, component] : by_root) components.push_back(std::move(component));
    return components;
  }

  Status Enumerate(Component& component) {
    ATTUNE_RETURN_IF_ERROR(Weigh(component));
    const size_t depth = component.parameters.size();
    decided_at_.assign(depth, {});
    for (const BoundConstraint& bound : bound_) {
      if (bound.parameters.empty()) continue;
      const auto last = std::find(component.parameters.begin(), component.parameters.end(),
                                  bound.parameters.back());
      if (last == component.parameters.end()) continue;
      decided_at_[static_cast<size_t>(last - component.parameters.begin())].push_back(&bound);
    }
    deepest_ = 0;
    refused_by_ = nullptr;
    ATTUNE_RETURN_IF_ERROR(Descend(component, 0, 0));
    for (const size_t parameter : component.parameters) {
      current_[parameter] = &parameters_[parameter].values.front();
    }
    if (component.ranks.empty()) return Empty(refused_by_->constraint->text);
    component.ranks.shrink_to_fit();
    return Status::Ok();
  }

  Status Weigh(Component& component) const {
    component.weights.assign(component.parameters.size(), 1);
    unsigned __int128 weight = 1;
    for (size_t i = component.parameters.size(); i-- > 0;) {
      component.weights[i] = static_cast<uint64_t>(weight);
      weight *= parameters_[component.parameters[i]].values.size();
      if (weight > std::numeric_limits<uint64_t>::max()) {
        return ResourceExhausted(fmt::format(
            "The {} parameters that constraints tie to '{}' have more than 2^64 combinations.",
            component.parameters.size(), parameters_[component.parameters.front()].name));
      }
    }
    return Status::Ok();
  }

  // Tries every value of the component's parameter number `level`.
  Status Descend(Component& component, size_t level, uint64_t rank) {
    if (level == component.parameters.size()) return Accept(component, rank);
    const size_t parameter = component.parameters[level];
    for (const ParameterValue& value : parameters_[parameter].values) {
      if (++visits_ > kMaxVisits) {
        return ResourceExhausted(fmt::format(
            "The space needs more than {} checks; order parameters so that constraints apply "
            "early.",
            kMaxVisits));
      }
      current_[parameter] = &value;
      ATTUNE_ASSIGN_OR_RETURN(const bool allowed, Allowed(level));
      if (allowed) ATTUNE_RETURN_IF_ERROR(Descend(component, level + 1, rank));
      rank += component.weights[level];
    }
    return Status::Ok();
  }

  Result<bool> Allowed(size_t level) {
    for (const BoundConstraint* const bound : decided_at_[level]) {
      Result<bool> holds = Holds(*bound);
      if (!holds.ok()) return holds;
      if (*holds) continue;
      if (level >= deepest_) refused_by_ = bound;
      deepest_ = std::max(deepest_, level);
      return false;
    }
    return true;
  }

  static Status Accept(Component& component, uint64_t rank) {
    if (component.ranks.size() == kMaxComponentConfigs) {
      return ResourceExhausted(fmt::format(
          "More than {} combinations of parameters that constraints tie together are valid.",
          kMaxComponentConfigs));
    }
    component.ranks.push_back(rank);
    return Status::Ok();
  }

  const std::vector<Parameter>& parameters_;
  const std::vector<Constraint>& constraints_;
  const Config& constants_;
  std::map<std::string, size_t, std::less<>> index_of_;
  std::vector<const ParameterValue*> current_;  // The value of every parameter while enumerating.
  std::vector<BoundConstraint> bound_;
  std::vector<std::vector<const BoundConstraint*>> decided_at_;  // By level of one component.
  uint64_t visits_ = 0;
  size_t deepest_ = 0;
  const BoundConstraint* refused_by_ = nullptr;  // What stopped the deepest descent.
};

}  // namespace

Result<std::vector<Component>> BuildComponents(const std::vector<Parameter>& parameters,
                                               const std::vector<Constraint>& constraints,
                                               const Config& constants) {
  return Builder(parameters, constraints, constants).Build();
}

}  // namespace attune
