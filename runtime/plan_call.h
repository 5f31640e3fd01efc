// Runs a plan on the buffers of a C call: workspace, queue, handles, and the fallback if memory or
// threads are short. Private to the C functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include <fmt/format.h>

#include "attune/attune.h"
#include "attune/base/exit_gate.h"
#include "attune/operators.h"
#include "runtime/c_runtime.h"
#include "runtime/request.h"

namespace attune {

// No operator has more.
inline constexpr size_t kMostOperands = 16;

// The operands of a call in the order of Operands(problem). kMost is the limit of its kind of call:
// all views are initialised, which costs time that a small product notices.
template <size_t kMost>
struct OperandList {
  std::array<BufferView, kMost> views;
  size_t count = 0;

  void Add(const void* address) { views[count++] = {const_cast<void*>(address), 0}; }
};

inline OperandList<4> OperandsOf(const attune_arguments& arguments) {
  OperandList<4> list;
  list.Add(arguments.a);
  list.Add(arguments.b);
  if (arguments.bias != nullptr) list.Add(arguments.bias);
  list.Add(arguments.c);
  return list;
}

// REQUIRES: `operands.count` is that of the problem.
inline OperandList<kMostOperands> OperandsOf(const attune_operands& operands) {
  OperandList<kMostOperands> list;
  for (size_t i = 0; i < operands.count; ++i) list.Add(operands.data[i]);
  return list;
}

inline void* QueueOf(const attune_arguments& arguments) {
  const bool has_field = arguments.struct_size >= sizeof arguments;
  return has_field ? arguments.queue : nullptr;
}
inline void* QueueOf(const attune_operands& operands) { return operands.queue; }

// Checks that each buffer of the call is a handle of the device.
template <class Buffers>
Status CheckHandles(const CallerHandles& device, const Plan& plan,
                    std::span<const BufferView> operands, const Buffers& call) {
  const auto check = [&](const void* handle, const BufferUse& use) -> Status {
    const Status checked = device.CheckHandle(handle, use);
    if (checked.ok()) [[likely]]
      return checked;
    return checked.WithContext("cannot run " + Text(plan.problem()));
  };
  const std::span<const BufferUse> uses = plan.operand_uses();
  for (size_t i = 0; i < uses.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR(check(operands[i].handle, uses[i]));
  }
  if (call.workspace == nullptr) return Status::Ok();
  return check(call.workspace, {"workspace", call.workspace_bytes, true, true});
}

inline bool HasOperands(const Plan& plan, const attune_arguments& call) {
  const bool has_bias = call.bias != nullptr;
  return call.a != nullptr && call.b != nullptr && call.c != nullptr && has_bias == plan.has_bias();
}

inline bool HasOperands(const Plan& plan, const attune_operands& call) {
  return call.count == plan.operand_uses().size() && call.data != nullptr &&
         std::find(call.data, call.data + call.count, nullptr) == call.data + call.count;
}

// The alignment of gemm and conv is not checked: that is measurable for a small product.
inline bool AreAligned(const Plan&, const attune_arguments&) { return true; }
inline bool AreAligned(const Plan& plan, const attune_operands& call) {
  uintptr_t bits = 0;
  for (size_t i = 0; i < call.count; ++i) bits |= reinterpret_cast<uintptr_t>(call.data[i]);
  return bits % plan.alignment_bytes() == 0;
}

inline Status Misaligned(const Plan&, const attune_arguments&) { return Status::Ok(); }
// REQUIRES: !AreAligned(plan, call).
inline Status Misaligned(const Plan& plan, const attune_operands& call) {
  const auto is_misaligned = [&plan](const void* operand) {
    return reinterpret_cast<uintptr_t>(operand) % plan.alignment_bytes() != 0;
  };
  void* const* const found = std::find_if(call.data, call.data + call.count, is_misaligned);
  return InvalidArgument(fmt::format(
      "cannot run {}: operand {} starts at {}, which is not a multiple of {} bytes",
      Text(plan.problem()), plan.operand_uses()[static_cast<size_t>(found - call.data)].name,
      fmt::ptr(*found), plan.alignment_bytes()));
}

inline Status WrongOperands(const Plan& plan, const attune_operands& call) {
  std::string names;
  for (const Operand& operand : Operands(plan.problem())) {
    names += (names.empty() ? "" : ", ") + operand.name;
  }
  return InvalidArgument(
      fmt::format("cannot run {}: it needs {} operands ({}), none of them null; the call passes {}",
                  Text(plan.problem()), plan.operand_uses().size(), names, call.count));
}

inline Status WrongOperands(const Plan& plan, const attune_arguments& arguments) {
  if (arguments.a == nullptr || arguments.b == nullptr || arguments.c == nullptr) {
    return InvalidArgument("An operand is null: a, b and c are needed.");
  }
  return InvalidArgument(fmt::format("{} {} a bias, and the arguments {} one.",
                                     Text(plan.problem()), plan.has_bias() ? "has" : "has not",
                                     arguments.bias != nullptr ? "bring" : "bring not"));
}

// True if the workspace of the caller is large enough for the plan.
template <class Buffers>
bool Fits(const Plan& plan, const Buffers& call) {
  return call.workspace == nullptr || plan.workspace_bytes() <= call.workspace_bytes;
}

// Runs the plan on a queue of the caller, with the workspace and the recording state of the queue.
template <class Buffers>
Status RunOnQueue(PlanServer& server, Plan& plan, const Buffers& call, Arguments& arguments) {
  const bool has_memory = call.workspace != nullptr;
  QueueState queue;
  // Only memory of the queue needs its id, which a call of the driver returns.
  if (!has_memory && plan.workspace_bytes() > 0) {
    ATTUNE_ASSIGN_OR_RETURN(queue, server.StateOf(arguments.queue));
  } else {
    ATTUNE_ASSIGN_OR_RETURN(queue.recording, server.RecordingOf(arguments.queue));
  }
  Plan* serving = &plan;
  if (queue.recording != 0) [[unlikely]] {
    if (plan.option().fails_capture) {
      const uint64_t limit = has_memory ? call.workspace_bytes : kNoWorkspaceLimit;
      serving = server.FindOrMakeCaptured(plan.problem(), limit);
      ATTUNE_RETURN_IF_ERROR(serving->failure());
    }
    server.queue_memory().Keep(arguments.queue, queue, serving->shared_from_this());
  }
  if (has_memory) {
    arguments.workspace = {call.workspace, 0};
  } else if (serving->workspace_bytes() > 0) {
    ATTUNE_ASSIGN_OR_RETURN(
        arguments.workspace,
        server.queue_memory().Workspace(arguments.queue, queue, serving->workspace_bytes()));
  }
  return serving->Run(arguments);
}

inline Status TooManyThreads() {
  return ResourceExhausted("The program allows fewer threads now than this choice uses.");
}

// Repeats a call whose plan got no workspace or threads. The failed plan wrote nothing.
template <class Buffers>
attune_code AfterShortage(PlanServer& server, const Plan& plan, const Buffers& call,
                          const Status& why);

// Always inlined: one more call is measurable for a small product. REQUIRES: those of RunPlan and
// Plan::Run.
template <class Buffers>
[[gnu::always_inline]] inline attune_code RunPlanNow(PlanServer& server, Plan& plan,
                                                     const Buffers& call) try {
  if (!server.Allows(plan)) [[unlikely]]
    return AfterShortage(server, plan, call, TooManyThreads());
  if (!HasOperands(plan, call)) return Fail(WrongOperands(plan, call));
  const auto list = OperandsOf(call);
  const std::span<const BufferView> operands(list.views.data(), list.count);
  if (const CallerHandles* handles = server.caller_handles()) [[unlikely]] {
    const Status checked = CheckHandles(*handles, plan, operands, call);
    if (!checked.ok()) return Fail(checked);
  } else if (!AreAligned(plan, call)) [[unlikely]] {
    return Fail(Misaligned(plan, call));
  }
  Arguments arguments;
  arguments.operands = operands;
  arguments.alpha = call.alpha;
  arguments.beta = call.beta;
  arguments.queue = QueueOf(call);
  const size_t needed = plan.workspace_bytes();
  if (arguments.queue != nullptr && plan.asks_queues(call.workspace != nullptr)) [[unlikely]] {
    const Status ran = RunOnQueue(server, plan, call, arguments);
    return ran.ok() ? ATTUNE_OK : Fail(ran);
  }
  if (needed > 0 && call.workspace != nullptr) {
    arguments.workspace = {call.workspace, 0};
  } else if (needed > 0) {
    auto workspace = server.Workspace(needed);
    if (!workspace.ok()) return AfterShortage(server, plan, call, workspace.error());
    arguments.workspace = *workspace;
  }
  const Status ran = plan.Run(arguments);
  return ran.ok() ? ATTUNE_OK : AfterShortage(server, plan, call, ran);
} catch (const std::bad_alloc&) {
  return FailWithoutMemory();
} catch (const std::exception& error) {
  // Exceptions of libraries must not unwind into C.
  return FailWith(StatusCode::kInternal, error.what());
}

// Runs a plan that an exit of the process takes apart.
template <class Buffers>
[[gnu::noinline]] attune_code RunBeforeExit(PlanServer& server, Plan& plan, const Buffers& call) {
  const ExitGate::Pass pass;
  if (pass.is_open()) return RunPlanNow(server, plan, call);
  return AfterShortage(server, plan, call, PlanServer::ProcessExits());
}

// REQUIRES: Fits(plan, call).
template <class Buffers>
[[gnu::always_inline]] inline attune_code RunPlan(PlanServer& server, Plan& plan,
                                                  const Buffers& call) {
  if (!plan.failure().ok()) return Fail(plan.failure());
  if (plan.fails_at_exit()) return RunBeforeExit(server, plan, call);
  return RunPlanNow(server, plan, call);
}

template <class Buffers>
[[gnu::noinline]] attune_code AfterShortage(PlanServer& server, const Plan& plan,
                                            const Buffers& call, const Status& why) {
  if (why.code() != StatusCode::kResourceExhausted) return Fail(why);
  const uint64_t limit = call.workspace != nullptr ? call.workspace_bytes : kNoWorkspaceLimit;
  Plan* other = server.FindOrMakeFrugal(plan.problem(), limit);
  // If even the single-threaded workspace is unavailable, tries a candidate without one.
  if (other == &plan && limit != 0) other = server.FindOrMakeFrugal(plan.problem(), 0);
  if (other == nullptr || other == &plan || !other->failure().ok()) return Fail(why);
  return RunPlan(server, *other, call);
}

// Runs a call whose workspace is too small for the usual plan. `key` contains the size of the
// workspace: each such size has a plan of its own.
template <class Buffers>
attune_code RunWithin(attune_runtime& owner, const PlanKey& key, Problem problem,
                      const Buffers& call) {
  Runtime* runtime = owner.current();
  Plan* plan = runtime == nullptr ? nullptr : runtime->server().Find(key);
  if (plan != nullptr) return RunPlan(runtime->server(), *plan, call);
  const attune_code code = Guarded([&]() -> Status {
    ATTUNE_ASSIGN_OR_RETURN(runtime, owner.here());
    plan = runtime->server().FindOrMake(key, problem, call.workspace_bytes, QueueOf(call));
    return Status::Ok();
  });
  return code != ATTUNE_OK ? code : RunPlan(runtime->server(), *plan, call);
}

}  // namespace attune
