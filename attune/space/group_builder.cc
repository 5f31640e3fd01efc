#include "attune/space/group_builder.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/space/column_machine.h"
#include "attune/space/group_plan.h"
#include "attune/space/mask_pool.h"
#include "attune/space/tuple_table.h"

namespace attune {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;  // A state from which nothing valid follows.

// States of one level and where their values lead: to states of the next level.
struct ForwardLevel {
  struct State {
    MaskId allowed = MaskPool::kEmpty;
    size_t first_child = 0;  // One for each allowed value; one alone if all lead to the same.
    bool is_uniform = false;
  };
  std::vector<State> states;
  std::vector<uint32_t> children;
};

class GroupBuilder {
 public:
  GroupBuilder(const GroupProblem& problem, FailedCheck policy)
      : problem_(problem), policy_(policy), plan_(PlanGroup(problem)), machine_(plan_.program) {
    for (size_t level = 0; level < problem.order.size(); ++level) {
      masks_.emplace_back(ValuesAt(level).size());
      machine_.SetValues(static_cast<int>(level), ValuesAt(level));
    }
    base_.assign(problem.order.size(), MaskPool::kFull);
    for (const PlannedConstraint& planned : plan_.constraints) {
      memos_.emplace_back(planned.inputs.size() + LevelPlan::FailureWords(planned.inputs.size()));
      if (!planned.by_value || planned.levels.size() < 2) continue;
      memos_.back().masks.assign(ValuesAt(planned.decided_level()).size(), kNowhere);
    }
  }
  GroupBuilder(const GroupBuilder&) = delete;
  GroupBuilder& operator=(const GroupBuilder&) = delete;

  Result<BuiltGroup> Build() {
    for (const PlannedConstraint& planned : plan_.constraints) {
      if (planned.levels.size() > 1) continue;
      Narrow(static_cast<size_t>(planned.last_level()), ComputedMask(planned), planned);
    }
    initial_ = base_;
    forward_.resize(problem_.order.size());
    TupleTable states(0);
    if (std::find(base_.begin(), base_.end(), MaskPool::kEmpty) == base_.end()) {
      states.Intern(nullptr);
    }
    for (size_t level = 0; level < forward_.size(); ++level) {
      ATTUNE_ASSIGN_OR_RETURN(states, Advance(level, states));
    }
    if (states.size() > 0) ATTUNE_RETURN_IF_ERROR(WriteGraph());
    built_.refused_by = built_.graph.has_value() ? nullptr : built_.refused_by;
    return std::move(built_);
  }

 private:
  // Masks computed so far, by the values that they depend on.
  struct Memo {
    explicit Memo(size_t width) : inputs(width) {}
    TupleTable inputs;
    std::vector<MaskId> masks;  // By number of the inputs, or by value.
  };

  const std::vector<ParameterValue>& ValuesAt(int level) const {
    return ValuesAt(static_cast<size_t>(level));
  }
  const std::vector<ParameterValue>& ValuesAt(size_t level) const {
    return (*problem_.parameters)[problem_.order[level]].values;
  }

  // False if no value of the level is left.
  bool Narrow(size_t level, MaskId mask, const PlannedConstraint& planned) {
    base_[level] = masks_[level].And(base_[level], mask);
    if (base_[level] != MaskPool::kEmpty) return true;
    built_.refused_by = planned.bound;
    return false;
  }

  MaskId ComputedMask(const PlannedConstraint& planned) {
    const auto level = static_cast<size_t>(planned.last_level());
    const size_t count = ValuesAt(level).size();
    checks_ += count;
    std::vector<uint64_t> mask = masks_[level].Blank();
    if (planned.truth.has_value()) {
      machine_.Run(planned.last_columns, planned.last_level());
      if (!machine_.HasFailed(*planned.truth)) {
        machine_.MarkTrue(*planned.truth, mask);
        return masks_[level].Intern(mask);
      }
    } else {
      ChooseCurrent(planned);
    }
    for (size_t value = 0; value < count; ++value) {
      const auto [holds, failed] =
          planned.truth.has_value() ? Computed(*planned.truth, value) : Evaluated(planned, value);
      built_.any_failed = built_.any_failed || failed;
      if (failed ? policy_ == FailedCheck::kAllows : holds) MaskPool::Set(mask, value);
    }
    return masks_[level].Intern(mask);
  }

  struct Check {
    bool holds = false;
    bool failed = false;
  };

  Check Computed(ColumnId truth, size_t value) const {
    return {machine_.IsTrue(truth, value), machine_.HasFailed(truth, value)};
  }

  // Lets the constraint read the values of its earlier parameters.
  void ChooseCurrent(const PlannedConstraint& planned) {
    for (const ColumnId id : planned.inputs) {
      const int level = plan_.program.columns()[id].level;
      const auto value = static_cast<size_t>(machine_.Scalar(id).cell.integer);
      (*problem_.current)[problem_.order[static_cast<size_t>(level)]] = &ValuesAt(level)[value];
    }
  }

  Check Evaluated(const PlannedConstraint& planned, size_t value) {
    const auto level = static_cast<size_t>(planned.last_level());
    (*problem_.current)[problem_.order[level]] = &ValuesAt(level)[value];
    const Result<bool> holds = planned.bound->constraint->holds(planned.bound->lookup);
    return {holds.ok() && *holds, !holds.ok()};
  }

  // The mask of values that `planned` allows for its last parameter after the choices so far, the
  // latest of which is `value`.
  MaskId MaskOf(size_t constraint, size_t value) {
    const PlannedConstraint& planned = plan_.constraints[constraint];
    Memo& memo = memos_[constraint];
    if (planned.by_value) {
      if (memo.masks[value] == kNowhere) memo.masks[value] = ComputedMask(planned);
      return memo.masks[value];
    }
    key_.clear();
    AppendCells(planned.inputs);
    const uint32_t id = memo.inputs.Intern(key_.data());
    if (id == memo.masks.size()) memo.masks.push_back(ComputedMask(planned));
    return memo.masks[id];
  }

  // The chosen cells of `columns`, and which of them are missing.
  void AppendCells(const std::vector<ColumnId>& columns) {
    for (size_t first = 0; first < columns.size(); first += 64) {
      uint64_t failed = 0;
      for (size_t i = first; i < std::min(first + 64, columns.size()); ++i) {
        const bool missing = machine_.Scalar(columns[i]).failed;
        failed |= uint64_t{missing} << (i - first);
        key_.push_back(missing ? 0 : machine_.Bits(columns[i]));
      }
      key_.push_back(failed);
    }
  }

  void Restore(const LevelPlan& plan, const uint64_t* words) {
    base_ = initial_;
    for (const size_t level : plan.narrowed) base_[level] = static_cast<MaskId>(*words++);
    for (size_t first = 0; first < plan.carried.size(); first += 64) {
      const size_t end = std::min(first + 64, plan.carried.size());
      const uint64_t failed = words[end - first];
      for (size_t i = first; i < end; ++i) {
        machine_.Set(plan.carried[i],
                     {std::bit_cast<Cell>(*words++), (failed >> (i - first) & 1) != 0});
      }
      ++words;
    }
  }

  uint32_t StateBehind(const LevelPlan& plan, TupleTable& next) {
    key_.clear();
    for (const size_t level : plan.narrowed) key_.push_back(base_[level]);
    AppendCells(plan.carried);
    return next.Intern(key_.data());
  }

  // The states behind `level`, of those before it.
  Result<TupleTable> Advance(size_t level, const TupleTable& states) {
    const LevelPlan& plan = plan_.levels[level];
    TupleTable next(plan.StateWords());
    machine_.Run(plan.own_columns, static_cast<int>(level));
    const LevelPlan nothing;
    const LevelPlan& before = level == 0 ? nothing : plan_.levels[level - 1];
    ForwardLevel& forward = forward_[level];
    ATTUNE_RETURN_IF_ERROR(CheckSteps(level, before, states));
    for (uint32_t state = 0; state < states.size(); ++state) {
      Restore(before, states.At(state));
      forward.states.push_back({base_[level], forward.children.size(), !plan.ValueMatters()});
      if (plan.ValueMatters()) {
        machine_.Run(plan.mixed_columns, static_cast<int>(level));
        Branch(level, next);
      } else {
        forward.children.push_back(StateBehind(plan, next));
      }
      const GroupLimits& limits = problem_.limits;
      if (next.size() > limits.states || WordsOf(level, next) > limits.words ||
          steps_ + forward.children.size() > limits.steps || checks_ > limits.checks) {
        const double done = (state + 1.0) / static_cast<double>(states.size());
        return TooLarge(level, ExceededNeed(level, next), states.size(), done);
      }
    }
    steps_ += forward.children.size();
    return next;
  }

  // Checks that there is room for a child of each allowed value of each state, before any is made.
  Status CheckSteps(size_t level, const LevelPlan& before, const TupleTable& states) {
    const uint64_t left = problem_.limits.steps - steps_;
    const bool may_be_many = states.size() * ValuesAt(level).size() > left;
    if (!may_be_many || !plan_.levels[level].ValueMatters()) return Status::Ok();
    uint64_t steps = steps_;
    for (uint32_t state = 0; state < states.size(); ++state) {
      Restore(before, states.At(state));
      steps += masks_[level].Count(base_[level]);
    }
    if (steps <= problem_.limits.steps) return Status::Ok();
    return TooLarge(level, {"steps", steps, problem_.limits.steps}, states.size(), 1);
  }

  // A child for each allowed value of the state that is restored.
  void Branch(size_t level, TupleTable& next) {
    const LevelPlan& plan = plan_.levels[level];
    const MaskId allowed = base_[level];
    saved_ = base_;
    masks_[level].ForEach(allowed, [&](uint32_t value) {
      ++checks_;
      for (const ColumnId id : plan.chosen) machine_.Choose(id, value);
      for (const size_t constraint : plan.decides) {
        const auto last = static_cast<size_t>(plan_.constraints[constraint].last_level());
        base_[last] = saved_[last];
      }
      bool possible = true;
      for (const size_t constraint : plan.decides) {
        const PlannedConstraint& planned = plan_.constraints[constraint];
        possible =
            Narrow(static_cast<size_t>(planned.last_level()), MaskOf(constraint, value), planned);
        if (!possible) break;
      }
      forward_[level].children.push_back(possible ? StateBehind(plan, next) : kNowhere);
    });
  }

  struct Need {
    std::string_view name;
    uint64_t so_far = 0;
    uint64_t limit = 0;
  };

  // Words of states and of the sets of values that they name.
  uint64_t WordsOf(size_t level, const TupleTable& next) const {
    uint64_t words = next.size() * plan_.levels[level].StateWords();
    for (size_t later = level + 1; later < masks_.size(); ++later) words += masks_[later].words();
    return words;
  }

  // REQUIRES: a limit is exceeded.
  Need ExceededNeed(size_t level, const TupleTable& next) const {
    const GroupLimits& limits = problem_.limits;
    const Need needs[] = {{"states", next.size(), limits.states},
                          {"words of states", WordsOf(level, next), limits.words},
                          {"steps", steps_ + forward_[level].children.size(), limits.steps},
                          {"checks", checks_, limits.checks}};
    return *std::find_if(std::begin(needs), std::end(needs),
                         [](const Need& need) { return need.so_far > need.limit; });
  }

  // `need` exceeds its limit at `level`, when this part of the `states` before it was `done`.
  Status TooLarge(size_t level, const Need& need, size_t states, double done) const {
    std::set<std::string> texts;
    size_t most_read = 0;
    for (const PlannedConstraint& planned : plan_.constraints) {
      const auto at = static_cast<int>(level);
      if (planned.levels.size() < 2 || planned.levels.front() > at || planned.last_level() < at) {
        continue;
      }
      texts.insert(fmt::format("'{}'", planned.bound->constraint->text));
      most_read = std::max(most_read, planned.bound->parameters.size());
    }
    const std::string_view remedy =
        most_read == problem_.order.size()
            ? "give these parameters fewer values, or split the constraint that reads all of them "
              "into several that read a few each"
            : "put parameters that one constraint reads next to each other, or give them fewer "
              "values";
    const auto expected = static_cast<uint64_t>(static_cast<double>(need.so_far) / done);
    return ResourceExhausted(fmt::format(
        "The {} parameters that constraints tie to '{}' cannot be counted: some {} {} are "
        "needed at '{}', and {} is the limit. {} different choices before it, times its {} "
        "values, matter to {}; {}.",
        problem_.order.size(), (*problem_.parameters)[problem_.order.front()].name, expected,
        need.name, (*problem_.parameters)[problem_.order[level]].name, need.limit, states,
        ValuesAt(level).size(), fmt::join(texts, ", "), remedy));
  }

  // Works from the last level to the first and leaves out dead ends.
  Status WriteGraph() {
    GraphWriter writer;
    std::vector<uint32_t> nodes = {CountedGraph::kEnd};  // Nodes for the states of the next level.
    for (size_t level = forward_.size(); level-- > 0;) {
      nodes = WriteLevel(level, nodes, writer);
      forward_[level] = ForwardLevel();
      const Need need = {"steps", writer.steps(), problem_.limits.steps};
      if (need.so_far > need.limit) return TooLarge(level, need, nodes.size(), 1);
    }
    if (nodes.front() == kNowhere) return Status::Ok();
    built_.graph = std::move(writer).Finish(nodes.front());
    return Status::Ok();
  }

  std::vector<uint32_t> WriteLevel(size_t level, const std::vector<uint32_t>& next,
                                   GraphWriter& writer) {
    const ForwardLevel& forward = forward_[level];
    std::vector<std::optional<GraphWriter::Values>> lists;  // By mask.
    std::vector<uint32_t> nodes;
    std::vector<uint32_t> children;
    std::vector<uint64_t> alive = masks_[level].Blank();
    for (const ForwardLevel::State& state : forward.states) {
      children.clear();
      std::fill(alive.begin(), alive.end(), 0);
      size_t child = state.first_child;
      masks_[level].ForEach(state.allowed, [&](uint32_t value) {
        const uint32_t behind = forward.children[child];
        if (!state.is_uniform) ++child;
        if (behind == kNowhere || next[behind] == kNowhere) return;
        MaskPool::Set(alive, value);
        children.push_back(next[behind]);
      });
      if (children.empty()) {
        nodes.push_back(kNowhere);
        continue;
      }
      const MaskId mask = masks_[level].Intern(alive);
      if (mask >= lists.size()) lists.resize(mask + 1);
      if (!lists[mask].has_value()) lists[mask] = ListOf(level, mask, writer);
      nodes.push_back(writer.AddNode(*lists[mask], children));
    }
    return nodes;
  }

  GraphWriter::Values ListOf(size_t level, MaskId mask, GraphWriter& writer) const {
    std::vector<uint32_t> positions;
    masks_[level].ForEach(mask, [&](uint32_t value) { positions.push_back(value); });
    return writer.AddValues(positions);
  }

  const GroupProblem& problem_;
  const FailedCheck policy_;
  const GroupPlan plan_;
  ColumnMachine machine_;
  std::vector<MaskPool> masks_;  // Per level.
  std::vector<Memo> memos_;      // Per constraint.
  std::vector<MaskId> initial_;  // Per level, after the constraints that read it alone.
  std::vector<MaskId> base_;     // Per level, after the choices so far.
  std::vector<MaskId> saved_;
  std::vector<uint64_t> key_;
  std::vector<ForwardLevel> forward_;
  uint64_t steps_ = 0;
  uint64_t checks_ = 0;
  BuiltGroup built_;
};

}  // namespace

Result<BuiltGroup> BuildGroup(const GroupProblem& problem, FailedCheck policy) {
  return GroupBuilder(problem, policy).Build();
}

}  // namespace attune
