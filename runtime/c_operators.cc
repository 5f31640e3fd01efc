// attune_run(): calls of an operator by its name.

#include <cassert>

#include <fmt/format.h>

#include "attune/base/struct_size.h"
#include "attune/base/text.h"
#include "attune/operators.h"
#include "attune/ops/registry.h"
#include "runtime/c_runtime.h"
#include "runtime/plan_call.h"

namespace attune {
namespace {

// The problem of a call.
struct AnyCall {
  const Operator* op = nullptr;
  const void* problem = nullptr;
  CallClasses classes;

  // The words of the struct, the limit, and the operator with the classes.
  PlanKey Key(uint64_t workspace_limit_bytes) const {
    assert(op->call_bytes() / sizeof(uint64_t) + 3 <= PlanKey::kMaxWords);
    PlanKey key;
    key.Append(problem, op->call_bytes() / sizeof(uint64_t));
    key.Append(workspace_limit_bytes);
    const auto packed =
        static_cast<uint64_t>(1 + classes.alpha + 4 * classes.beta + 16 * classes.wide);
    key.Append(packed | reinterpret_cast<uintptr_t>(op) << 8);
    // The number of words is even.
    if (key.size % 2 != 0) key.Append(uint64_t{0});
    return key;
  }
};

attune_code RunAny(attune_runtime& owner, const AnyCall& call, const attune_operands& operands) {
  const PlanKey key = call.Key(kNoWorkspaceLimit);
  Runtime* runtime = owner.current();
  Plan* plan = runtime == nullptr ? nullptr : runtime->server().Find(key);
  if (plan == nullptr) {
    const attune_code code = Guarded([&]() -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const Problem problem, call.op->ReadCall(call.problem, call.classes));
      ATTUNE_ASSIGN_OR_RETURN(runtime, owner.here());
      if (void* queue = QueueOf(operands)) {
        ATTUNE_RETURN_IF_ERROR(runtime->server().StateOf(queue).status());
      }
      plan = runtime->server().FindOrMake(key, problem, kNoWorkspaceLimit, QueueOf(operands));
      return Status::Ok();
    });
    if (code != ATTUNE_OK) return code;
  }
  if (Fits(*plan, operands)) return RunPlan(runtime->server(), *plan, operands);
  return RunWithin(owner, call.Key(operands.workspace_bytes), plan->problem(), operands);
}

// kInvalidArgument or kNotFound for arguments that attune_run() does not take.
Result<AnyCall> AnyCallOf(const char* operator_name, const void* problem, size_t problem_bytes,
                          const attune_operands& operands) {
  ATTUNE_RETURN_IF_ERROR(CheckStructSize(operands.struct_size, sizeof operands, "the operands",
                                         "ATTUNE_OPERANDS_INIT"));
  const Operator* const op = FindOperator(operator_name);
  if (op == nullptr || op->call_bytes() == 0) {
    return NotFound(fmt::format(
        "cannot run operator '{}': attune does not know it, or it has a function of its own, as "
        "gemm and conv do",
        Excerpt(operator_name)));
  }
  if (problem_bytes != op->call_bytes()) {
    return InvalidArgument(
        fmt::format("cannot run {}: its struct has {} bytes, but the call passes {}", op->name(),
                    op->call_bytes(), problem_bytes));
  }
  if (operands.count > kMostOperands) {
    return InvalidArgument(
        fmt::format("cannot run {}: the call passes {} operands; the limit is {}", op->name(),
                    operands.count, kMostOperands));
  }
  if (operands.data == nullptr) {
    return InvalidArgument(
        fmt::format("cannot run {}: the list of operands (data) is null", op->name()));
  }
  uintptr_t bits = 0;
  for (size_t i = 0; i < operands.count; ++i) {
    bits |= reinterpret_cast<uintptr_t>(operands.data[i]);
  }
  return AnyCall{op,
                 problem,
                 {ScalarClassOf(operands.alpha), ScalarClassOf(operands.beta),
                  bits % kWideAlignmentBytes == 0 ? 1 : 0}};
}

}  // namespace
}  // namespace attune

extern "C" {

attune_code attune_run(attune_runtime* runtime, const char* operator_name, const void* problem,
                       size_t problem_bytes, const attune_operands* operands) {
  if (runtime == nullptr || operator_name == nullptr || problem == nullptr || operands == nullptr) {
    return attune::Fail(attune::NullArgument("attune_run"));
  }
  if (!attune::HasAmpleStack()) [[unlikely]] {
    return attune::OnOwnStack(
        [&] { return attune_run(runtime, operator_name, problem, problem_bytes, operands); },
        attune::FailWithoutMemory);
  }
  attune::AnyCall call;
  const attune_code code = attune::Guarded([&]() -> attune::Status {
    ATTUNE_ASSIGN_OR_RETURN(call,
                            attune::AnyCallOf(operator_name, problem, problem_bytes, *operands));
    if (runtime->takes_handles()) call.classes.wide = 1;
    return attune::Status::Ok();
  });
  return code != ATTUNE_OK ? code : attune::RunAny(*runtime, call, *operands);
}

}  // extern "C"
