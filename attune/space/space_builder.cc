#include "attune/space/space_builder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "attune/space/group_builder.h"

namespace attune {
namespace {

class SpaceBuilder {
 public:
  SpaceBuilder(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints,
               const Config& constants)
      : parameters_(parameters), constraints_(constraints), constants_(constants) {}
  SpaceBuilder(const SpaceBuilder&) = delete;
  SpaceBuilder& operator=(const SpaceBuilder&) = delete;

  Result<std::vector<ParameterGroup>> Build() {
    ATTUNE_RETURN_IF_ERROR(CheckNames());
    // Complete before Bind takes addresses of its elements.
    for (const Parameter& parameter : parameters_) current_.push_back(&parameter.values.front());
    for (const Constraint& constraint : constraints_) ATTUNE_RETURN_IF_ERROR(Bind(constraint));
    ATTUNE_RETURN_IF_ERROR(CheckFixed());
    std::vector<ParameterGroup> groups = Partition();
    for (ParameterGroup& group : groups) ATTUNE_RETURN_IF_ERROR(Fill(group));
    return groups;
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
    const Status failed = holds.error().WithContext(fmt::format(
        "Constraint '{}' cannot be evaluated at {{{}}}", bound.constraint->text, Seen(bound)));
    return AtPlaceOf(*bound.constraint, failed);
  }

  // The values that `bound` reads now.
  std::string Seen(const BoundConstraint& bound) const {
    Config config;
    for (const std::string& name : bound.constraint->names) {
      if (const ParameterValue* const value = bound.lookup(name)) config.emplace(name, *value);
    }
    return Text(config);
  }

  static Status AtPlaceOf(const Constraint& constraint, const Status& status) {
    return constraint.place.empty() ? status : status.WithContext(constraint.place);
  }

  static Status Empty(const Constraint& constraint) {
    return AtPlaceOf(constraint, InvalidArgument(fmt::format(
                                     "No config is valid: constraint '{}' refuses the last ones.",
                                     constraint.text)));
  }

  // Constraints that no choice can change.
  Status CheckFixed() {
    for (const BoundConstraint& bound : bound_) {
      if (!bound.parameters.empty()) continue;
      ATTUNE_ASSIGN_OR_RETURN(const bool holds, Holds(bound));
      if (!holds) return Empty(*bound.constraint);
    }
    return Status::Ok();
  }

  size_t Root(std::vector<size_t>& parents, size_t i) const {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
  }

  std::vector<ParameterGroup> Partition() const {
    std::vector<size_t> parents(parameters_.size());
    std::iota(parents.begin(), parents.end(), size_t{0});
    for (const BoundConstraint& bound : bound_) {
      for (const size_t parameter : bound.parameters) {
        // The smaller index becomes the root, so groups are ordered by their first parameter.
        const size_t a = Root(parents, bound.parameters.front());
        const size_t b = Root(parents, parameter);
        parents[std::max(a, b)] = std::min(a, b);
      }
    }
    std::map<size_t, ParameterGroup> by_root;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].values.size() > 1) by_root[Root(parents, i)].parameters.push_back(i);
    }
    std::vector<ParameterGroup> groups;
    for (auto& [root, group] : by_root) groups.push_back(std::move(group));
    return groups;
  }

  Status Fill(ParameterGroup& group) {
    GroupProblem problem{&parameters_, group.parameters, {}, &current_};
    for (const BoundConstraint& bound : bound_) {
      if (bound.parameters.empty()) continue;
      const auto& of_group = group.parameters;
      if (std::binary_search(of_group.begin(), of_group.end(), bound.parameters.front())) {
        problem.constraints.push_back(&bound);
      }
    }
    ATTUNE_ASSIGN_OR_RETURN(BuiltGroup built, BuildGroup(problem, FailedCheck::kRefuses));
    if (built.any_failed) ATTUNE_RETURN_IF_ERROR(CheckFailures(problem, built.graph));
    if (!built.graph.has_value()) return Empty(*built.refused_by->constraint);
    group.graph = std::move(*built.graph);
    return Status::Ok();
  }

  // Makes the first combination of `all` current that `part` lacks. REQUIRES: there is one, and
  // `all` has everything that `part` has.
  void ChooseFirstUnlike(const GroupProblem& problem, const CountedGraph& all,
                         const std::optional<CountedGraph>& part) {
    CountedGraph::NodeId in_all = all.root();
    bool is_in_part = part.has_value();
    CountedGraph::NodeId in_part = is_in_part ? part->root() : CountedGraph::kEnd;
    for (const size_t parameter : problem.order) {
      const std::span<const uint32_t> values = all.Values(in_all);
      for (size_t i = 0; i < values.size(); ++i) {
        std::optional<CountedGraph::Step> step;
        if (is_in_part) step = part->Follow(in_part, values[i]);
        const CountedGraph::NodeId child = all.Child(in_all, i);
        if (step.has_value() && part->Count(step->child) == all.Count(child)) continue;
        current_[parameter] = &parameters_[parameter].values[values[i]];
        in_all = child;
        is_in_part = step.has_value();
        if (is_in_part) in_part = step->child;
        break;
      }
    }
  }

  // A constraint could not be evaluated somewhere. That is an error only at a combination that no
  // other constraint refuses: one that is there if failed checks allow, and not in `valid`.
  Status CheckFailures(const GroupProblem& problem, const std::optional<CountedGraph>& valid) {
    ATTUNE_ASSIGN_OR_RETURN(const BuiltGroup built, BuildGroup(problem, FailedCheck::kAllows));
    if (!built.graph.has_value()) return Status::Ok();
    if (valid.has_value() && valid->size() == built.graph->size()) return Status::Ok();
    ChooseFirstUnlike(problem, *built.graph, valid);
    for (const BoundConstraint* bound : problem.constraints) {
      ATTUNE_RETURN_IF_ERROR(Holds(*bound).status());
    }
    return Internal("A constraint fails in one order of checks only.");
  }

  const std::vector<Parameter>& parameters_;
  const std::vector<Constraint>& constraints_;
  const Config& constants_;
  std::map<std::string, size_t, std::less<>> index_of_;
  std::vector<const ParameterValue*> current_;  // The value of every parameter while enumerating.
  std::vector<BoundConstraint> bound_;
};

}  // namespace

Result<std::vector<ParameterGroup>> BuildGroups(const std::vector<Parameter>& parameters,
                                                const std::vector<Constraint>& constraints,
                                                const Config& constants) {
  return SpaceBuilder(parameters, constraints, constants).Build();
}

}  // namespace attune
