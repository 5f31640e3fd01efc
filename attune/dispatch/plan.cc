#include "attune/dispatch/plan.h"

#include <utility>

namespace attune {
namespace {

bool HasBias(const Problem& problem) { return FieldOr(problem, "bias", 0) != 0; }

std::vector<BufferUse> UsesOf(const Problem& problem) {
  const std::vector<Operand> operands = Operands(problem);
  // Calls without a struct of their operator have attune_arguments, whose fields are named so.
  const bool has_arguments = problem.op().call_bytes() == 0;
  std::vector<BufferUse> uses;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    const bool is_last = i + 1 == operands.size();
    const std::string field = is_last ? "c" : i == 0 ? "a" : i == 1 ? "b" : "bias";
    uses.push_back({has_arguments ? field : operand.name, SpanBytes(operand.tensor),
                    operand.role != OperandRole::kOut, operand.role != OperandRole::kIn});
  }
  return uses;
}

}  // namespace

std::string_view Name(Origin origin) {
  switch (origin) {
    case Origin::kForced:
      return "forced";
    case Origin::kMeasured:
      return "measured";
    case Origin::kCompatible:
      return "compatible";
    case Origin::kNearest:
      return "nearest";
    case Origin::kPredicted:
      return "predicted";
    case Origin::kDefault:
      return "default";
  }
  return "default";
}

Plan::Plan(Problem problem, uint64_t workspace_limit_bytes, Option option,
           std::unique_ptr<Executable> executable)
    : problem_(std::move(problem)),
      workspace_limit_bytes_(workspace_limit_bytes),
      option_(std::move(option)),
      executable_(std::move(executable)),
      workspace_bytes_(executable_->workspace_bytes()),
      operand_uses_(UsesOf(problem_)),
      alignment_bytes_(static_cast<uint64_t>(FieldOr(problem_, kAlignmentField, 1))),
      threads_(option_.threads),
      has_bias_(HasBias(problem_)),
      is_concurrent_(executable_->is_concurrent()),
      is_needed_by_graphs_(option_.fails_capture || executable_->is_needed_by_graphs()) {}

Plan::Plan(Problem problem, uint64_t workspace_limit_bytes, Status failure)
    : problem_(std::move(problem)),
      workspace_limit_bytes_(workspace_limit_bytes),
      failure_(std::move(failure)),
      has_bias_(HasBias(problem_)) {}

Status Plan::RunAlone(const Arguments& arguments) {
  if (executable_ == nullptr) return failure_;
  const std::lock_guard<std::mutex> lock(run_mutex_);
  return executable_->Run(arguments);
}

bool PlanSlot::Publish(std::shared_ptr<Plan> plan) {
  const std::lock_guard<std::mutex> lock(versions_mutex_);
  if (versions_.size() == kMaxVersions) return false;
  versions_.push_back(std::move(plan));
  current_.store(versions_.back().get(), std::memory_order_release);
  return true;
}

}  // namespace attune
