#include "attune/space/group_plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "attune/space/implied_constraint.h"

namespace attune {
namespace {

// Every text that a constraint may compare.
std::vector<std::string> TextsOf(const GroupProblem& problem) {
  std::set<std::string> texts;
  const auto add = [&texts](const ParameterValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) texts.insert(*text);
  };
  for (const size_t parameter : problem.order) {
    for (const ParameterValue& value : (*problem.parameters)[parameter].values) add(value);
  }
  for (const BoundConstraint* bound : problem.constraints) {
    if (!bound->constraint->expression.has_value()) continue;
    for (const ExpressionNode& node : bound->constraint->expression->tree().nodes) {
      if (node.op == ExpressionOp::kString) texts.insert(node.text);
      if (node.op != ExpressionOp::kName) continue;
      if (const ParameterValue* const value = bound->lookup(node.text)) add(*value);
    }
  }
  return {texts.begin(), texts.end()};
}

class Planner {
 public:
  explicit Planner(const GroupProblem& problem)
      : problem_(problem), plan_{ColumnProgram(TextsOf(problem)), {}, {}} {}

  GroupPlan Plan() {
    plan_.levels.resize(problem_.order.size());
    for (const BoundConstraint* bound : problem_.constraints) AddConstraint(*bound);
    for (size_t i = 0; i < plan_.constraints.size(); ++i) PlaceConstraint(i);
    for (size_t level = 0; level < plan_.levels.size(); ++level) PlanLevel(static_cast<int>(level));
    return std::move(plan_);
  }

 private:
  int LevelOf(size_t parameter) const {
    const auto found = std::find(problem_.order.begin(), problem_.order.end(), parameter);
    return static_cast<int>(found - problem_.order.begin());
  }

  NameMeaning MeaningOf(const BoundConstraint& bound, std::string_view name) const {
    for (const size_t parameter : bound.parameters) {
      const Parameter& read = (*problem_.parameters)[parameter];
      if (read.name == name) return {LevelOf(parameter), &read.values, nullptr};
    }
    return {kKnownLevel, nullptr, bound.lookup(name)};
  }

  void AddConstraint(const BoundConstraint& bound) {
    PlannedConstraint planned;
    planned.bound = &bound;
    for (const size_t parameter : bound.parameters) planned.levels.push_back(LevelOf(parameter));
    std::sort(planned.levels.begin(), planned.levels.end());
    if (const auto& expression = bound.constraint->expression) {
      planned.truth =
          plan_.program.AddTruth(expression->tree(), expression->dialect(),
                                 [&](std::string_view name) { return MeaningOf(bound, name); });
    }
    if (planned.truth.has_value()) {
      closures_.push_back(ClosureOf(*planned.truth));
    } else {
      std::set<ColumnId> positions;
      for (const int level : planned.levels) positions.insert(plan_.program.AddPosition(level));
      closures_.push_back(std::move(positions));
    }
    const std::vector<int> levels = planned.levels;
    const bool is_computed = planned.truth.has_value();
    plan_.constraints.push_back(std::move(planned));
    // Starts at two parameters: a constraint of two is decided once the first is chosen.
    for (size_t chosen = 2; is_computed && chosen < levels.size(); ++chosen) {
      AddImplied(bound, {levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(chosen)});
    }
  }

  // Adds the constraints that `bound` implies on the parameters at `levels`, the first that it
  // reads.
  void AddImplied(const BoundConstraint& bound, const std::vector<int>& levels) {
    std::vector<std::string> later;
    for (const size_t parameter : bound.parameters) {
      if (LevelOf(parameter) > levels.back()) {
        later.push_back((*problem_.parameters)[parameter].name);
      }
    }
    const Expression& expression = *bound.constraint->expression;
    const auto range_of = [&](std::string_view name) {
      const NameMeaning meaning = MeaningOf(bound, name);
      return meaning.values != nullptr ? RangeOfValues(*meaning.values)
                                       : RangeOfValues({*meaning.constant});
    };
    for (const ExpressionTree& tree : ImpliedWithout(later, expression.tree(), range_of)) {
      PlannedConstraint implied;
      implied.bound = &bound;
      implied.truth =
          plan_.program.AddTruth(tree, expression.dialect(),
                                 [&](std::string_view name) { return MeaningOf(bound, name); });
      if (!implied.truth.has_value()) continue;
      std::set<ColumnId> closure = ClosureOf(*implied.truth);
      std::set<int> read;
      for (const ColumnId id : closure) {
        const Column& column = plan_.program.columns()[id];
        if (column.op == ColumnOp::kParameter) read.insert(column.level);
      }
      // One of fewer parameters was implied before.
      if (!read.contains(levels.back())) continue;
      implied.levels.assign(read.begin(), read.end());
      closures_.push_back(std::move(closure));
      plan_.constraints.push_back(std::move(implied));
    }
  }

  // Nothing if they are not numbers of one kind.
  static std::optional<NameRange> RangeOfValues(const std::vector<ParameterValue>& values) {
    NameRange range;
    range.is_integer = std::holds_alternative<int64_t>(values.front());
    std::vector<double> numbers;
    for (const ParameterValue& value : values) {
      const bool is_integer = std::holds_alternative<int64_t>(value);
      if (is_integer != range.is_integer || std::holds_alternative<std::string>(value)) return {};
      numbers.push_back(is_integer ? static_cast<double>(std::get<int64_t>(value))
                                   : std::get<double>(value));
    }
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    range.low = *low;
    range.high = *high;
    return range;
  }

  // `root` and all columns that it reads, directly or not, but constants.
  std::set<ColumnId> ClosureOf(ColumnId root) const {
    std::set<ColumnId> closure;
    std::vector<ColumnId> open = {root};
    while (!open.empty()) {
      const ColumnId id = open.back();
      open.pop_back();
      const Column& column = plan_.program.columns()[id];
      if (column.level == kKnownLevel || !closure.insert(id).second) continue;
      const ColumnId operands[] = {column.a, column.b, column.c};
      open.insert(open.end(), operands, operands + column.arity);
    }
    return closure;
  }

  // Columns of `constraint` up to `level` that its columns behind `level` read.
  std::vector<ColumnId> ReadBehind(size_t constraint, int level) const {
    const std::set<ColumnId>& closure = closures_[constraint];
    if (!plan_.constraints[constraint].truth.has_value()) return UpTo(closure, level);
    std::set<ColumnId> read;
    for (const ColumnId id : closure) {
      const Column& column = plan_.program.columns()[id];
      if (column.level <= level) continue;
      const ColumnId operands[] = {column.a, column.b, column.c};
      for (size_t i = 0; i < column.arity; ++i) {
        const int of_operand = plan_.program.columns()[operands[i]].level;
        if (of_operand != kKnownLevel && of_operand <= level) read.insert(operands[i]);
      }
    }
    return {read.begin(), read.end()};
  }

  std::vector<ColumnId> UpTo(const std::set<ColumnId>& columns, int level) const {
    std::vector<ColumnId> read;
    for (const ColumnId id : columns) {
      if (plan_.program.columns()[id].level <= level) read.push_back(id);
    }
    return read;
  }

  void PlaceConstraint(size_t index) {
    PlannedConstraint& planned = plan_.constraints[index];
    const int last = planned.last_level();
    if (planned.truth.has_value()) {
      for (const ColumnId id : closures_[index]) {
        if (plan_.program.columns()[id].level == last) planned.last_columns.push_back(id);
      }
    }
    planned.inputs = ReadBehind(index, last - 1);
    if (planned.levels.size() < 2) return;
    const int decided = planned.decided_level();
    planned.by_value =
        std::all_of(planned.inputs.begin(), planned.inputs.end(), [this, decided](ColumnId id) {
          const Column& column = plan_.program.columns()[id];
          return column.level == decided && column.own_level_only;
        });
    plan_.levels[static_cast<size_t>(decided)].decides.push_back(index);
  }

  void PlanLevel(int level) {
    LevelPlan& plan = plan_.levels[static_cast<size_t>(level)];
    std::set<size_t> narrowed;
    std::set<ColumnId> carried;
    std::set<ColumnId> chosen;
    std::set<ColumnId> computed;
    for (size_t i = 0; i < plan_.constraints.size(); ++i) {
      const PlannedConstraint& planned = plan_.constraints[i];
      if (planned.levels.size() < 2 || planned.last_level() <= level) continue;
      const std::vector<ColumnId> read = ReadBehind(i, level);
      for (const ColumnId id : closures_[i]) {
        if (plan_.program.columns()[id].level == level) computed.insert(id);
      }
      if (planned.decided_level() <= level) {
        narrowed.insert(static_cast<size_t>(planned.last_level()));
      } else {
        carried.insert(read.begin(), read.end());
      }
      if (planned.decided_level() >= level) chosen.insert(read.begin(), read.end());
    }
    plan.narrowed.assign(narrowed.begin(), narrowed.end());
    plan.carried.assign(carried.begin(), carried.end());
    for (const ColumnId id : chosen) {
      if (plan_.program.columns()[id].level == level) plan.chosen.push_back(id);
    }
    for (const ColumnId id : computed) {
      const bool own = plan_.program.columns()[id].own_level_only;
      (own ? plan.own_columns : plan.mixed_columns).push_back(id);
    }
  }

  const GroupProblem& problem_;
  GroupPlan plan_;
  std::vector<std::set<ColumnId>> closures_;  // Per constraint.
};

}  // namespace

GroupPlan PlanGroup(const GroupProblem& problem) { return Planner(problem).Plan(); }

}  // namespace attune
