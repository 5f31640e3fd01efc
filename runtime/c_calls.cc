// The C functions that create run times and compute.

#include <pthread.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "attune/base/struct_size.h"
#include "attune/base/text.h"
#include "attune/tunable/c_api.h"
#include "runtime/c_runtime.h"
#include "runtime/plan_call.h"
#include "runtime/request.h"
#include "runtime/settings.h"

namespace attune {
namespace {

// No object with a destructor: those of the main thread run before the atexit handlers and the
// static destructors of the program, whose calls may fail, too.
// Nor the buffer itself: a library that is opened late has no room for it among its thread-locals.
thread_local constinit char* last_message = nullptr;

void ForgetMessage(void* message) {
  last_message = nullptr;
  std::free(message);
}

// Of this thread until it ends, but for the main thread's, which stays. Null without memory.
char* MessageBuffer() {
  if (last_message != nullptr) return last_message;
  static const std::optional<pthread_key_t> key = []() -> std::optional<pthread_key_t> {
    pthread_key_t made = 0;
    if (::pthread_key_create(&made, ForgetMessage) != 0) return std::nullopt;
    return made;
  }();
  last_message = static_cast<char*>(std::malloc(ATTUNE_MESSAGE_BYTES));
  if (last_message != nullptr && key.has_value()) ::pthread_setspecific(*key, last_message);
  return last_message;
}

// What callers of the first release have.
constexpr size_t kLeastArgumentsSize = offsetof(attune_arguments, queue);

// Rejects sizes that would make attune read fields that the caller lacks. Every call checks, so a
// single comparison uses unsigned wrap-around.
bool HasWrongSize(const attune_arguments& arguments) {
  return arguments.struct_size - kLeastArgumentsSize > kMostStructSize - kLeastArgumentsSize;
}

Status WrongSize(const attune_arguments& arguments) {
  return CheckStructSize(arguments.struct_size, kLeastArgumentsSize, "the arguments",
                         "ATTUNE_ARGUMENTS_INIT");
}

bool HasWholeScalars(const attune_arguments& call) {
  return IsWhole(call.alpha) && IsWhole(call.beta);
}

Status NotWhole(const std::string& problem, const attune_arguments& call) {
  using Limits = std::numeric_limits<int32_t>;
  const bool is_alpha = !IsWhole(call.alpha);
  return InvalidArgument(fmt::format(
      "cannot run {}: {} is {}, and products of integers take whole numbers from {} to {}", problem,
      is_alpha ? "alpha" : "beta", is_alpha ? call.alpha : call.beta, Limits::min(),
      Limits::max()));
}

Status NotWhole(const attune_gemm& gemm, CallClasses classes, const attune_arguments& call) {
  ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ProblemOf(gemm, classes));
  return NotWhole(Text(problem), call);
}

// The call is served whatever becomes of this.
void NoteDynamicHit(attune_runtime& owner, const PlanKey& key, const Problem& problem) {
  (void)Guarded([&]() -> Status {
    ATTUNE_ASSIGN_OR_RETURN(Runtime * runtime, owner.here());
    runtime->NoteDynamicHit(key, problem, CurrentDynamicDims());
    return Status::Ok();
  });
}

template <class Call>
[[gnu::always_inline]] inline attune_code RunCall(attune_runtime& owner, const Call& call,
                                                  CallClasses classes,
                                                  const attune_arguments& arguments) {
  if (Runtime* current = owner.current()) [[likely]] {
    PlanServer& server = current->server();
    // Most calls are like the one before, and find its plan without a key of their own.
    Plan* plan = server.FindAgain(PartsOfCall(call, classes, kNoWorkspaceLimit));
    if (plan == nullptr) plan = server.Find(KeyOfCall(call, classes, kNoWorkspaceLimit));
    if (plan != nullptr) [[likely]] {
      if (HasDynamicDims()) [[unlikely]] {
        NoteDynamicHit(owner, KeyOfCall(call, classes, kNoWorkspaceLimit), plan->problem());
      }
      if (Fits(*plan, arguments)) [[likely]]
        return RunPlan(server, *plan, arguments);
      return RunWithin(owner, KeyOfCall(call, classes, arguments.workspace_bytes), plan->problem(),
                       arguments);
    }
  }
  Plan* plan = nullptr;
  Runtime* runtime = nullptr;
  const attune_code code = Guarded([&]() -> Status {
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ProblemOf(call, classes));
    ATTUNE_ASSIGN_OR_RETURN(runtime, owner.here());
    // Rejects a queue that the device does not take before the lookup.
    if (void* queue = QueueOf(arguments)) {
      ATTUNE_RETURN_IF_ERROR(runtime->server().StateOf(queue).status());
    }
    runtime->NoteDynamic(problem, CurrentDynamicDims());
    const PlanKey key = KeyOfCall(call, classes, kNoWorkspaceLimit);
    plan = runtime->server().FindOrMake(key, problem, kNoWorkspaceLimit, QueueOf(arguments));
    return Status::Ok();
  });
  if (code != ATTUNE_OK) return code;
  if (Fits(*plan, arguments)) return RunPlan(runtime->server(), *plan, arguments);
  return RunWithin(owner, KeyOfCall(call, classes, arguments.workspace_bytes), plan->problem(),
                   arguments);
}

}  // namespace

attune_code Fail(const Status& status) { return FailWith(status.code(), status.message()); }

attune_code FailWith(StatusCode code, std::string_view message) noexcept {
  if (char* buffer = MessageBuffer()) {
    const std::string_view kept = FirstBytes(message, ATTUNE_MESSAGE_BYTES - 1);
    std::memcpy(buffer, kept.data(), kept.size());
    buffer[kept.size()] = '\0';
  }
  return static_cast<attune_code>(code);
}

Status CopyOut(const std::string& text, char** out) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return ResourceExhausted("There is no memory left.");
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return Status::Ok();
}

Result<TunableContext*> ContextOf(attune_runtime& owner) {
  ATTUNE_ASSIGN_OR_RETURN(Runtime * runtime, owner.here());
  return &runtime->tunable();
}

static_assert(static_cast<int>(StatusCode::kInternal) == ATTUNE_INTERNAL);
static_assert(static_cast<int>(StatusCode::kUnsupported) == ATTUNE_UNSUPPORTED);
static_assert(static_cast<int>(StatusCode::kResourceExhausted) == ATTUNE_RESOURCE_EXHAUSTED);

}  // namespace attune

extern "C" {

int attune_api_version(void) { return ATTUNE_API_VERSION; }
const char* attune_version(void) { return ATTUNE_VERSION; }
const char* attune_last_message(void) {
  return attune::last_message == nullptr ? "" : attune::last_message;
}
void attune_free(void* memory) { std::free(memory); }

attune_code attune_runtime_create(const attune_options* options, attune_runtime** out) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(out);
    if (out == nullptr) return attune::NullArgument("attune_runtime_create");
    ATTUNE_ASSIGN_OR_RETURN(const auto settings,
                            attune::ReadSettings(options, attune::VariablesOfProcess()));
    ATTUNE_ASSIGN_OR_RETURN(auto runtime, attune::Runtime::Create(settings));
    *out = new attune_runtime(std::move(runtime));
    return attune::Status::Ok();
  });
}

void attune_runtime_destroy(attune_runtime* runtime) {
  const auto destroy = [](void* made) { delete static_cast<attune_runtime*>(made); };
  if (attune::HasAmpleStack() || !attune::RunOnOwnStack(destroy, runtime)) destroy(runtime);
}

attune_code attune_run_gemm(attune_runtime* runtime, const attune_gemm* gemm,
                            const attune_arguments* arguments) {
  if (runtime == nullptr || gemm == nullptr || arguments == nullptr) {
    return attune::Fail(attune::NullArgument("attune_run_gemm"));
  }
  if (!attune::HasAmpleStack()) [[unlikely]] {
    return attune::OnOwnStack([&] { return attune_run_gemm(runtime, gemm, arguments); },
                              attune::FailWithoutMemory);
  }
  if (attune::HasWrongSize(*arguments)) [[unlikely]]
    return attune::Fail(attune::WrongSize(*arguments));
  const attune::CallClasses classes = {attune::ScalarClassOf(arguments->alpha),
                                       attune::ScalarClassOf(arguments->beta),
                                       runtime->IsWide(*arguments)};
  // Comes before the lookup, so that a refused call leaves nothing to tune.
  if (gemm->type == ATTUNE_I8 && !attune::HasWholeScalars(*arguments)) [[unlikely]] {
    return attune::Guarded([&] { return attune::NotWhole(*gemm, classes, *arguments); });
  }
  return attune::RunCall(*runtime, *gemm, classes, *arguments);
}

attune_code attune_run_conv(attune_runtime* runtime, const attune_conv* conv,
                            const attune_arguments* arguments) {
  if (runtime == nullptr || conv == nullptr || arguments == nullptr) {
    return attune::Fail(attune::NullArgument("attune_run_conv"));
  }
  if (!attune::HasAmpleStack()) [[unlikely]] {
    return attune::OnOwnStack([&] { return attune_run_conv(runtime, conv, arguments); },
                              attune::FailWithoutMemory);
  }
  if (attune::HasWrongSize(*arguments)) [[unlikely]]
    return attune::Fail(attune::WrongSize(*arguments));
  const attune::CallClasses classes = {1, 0, runtime->IsWide(*arguments)};
  return attune::RunCall(*runtime, *conv, classes, *arguments);
}

attune_code attune_synchronize(attune_runtime* runtime) {
  return attune::Guarded([&]() -> attune::Status {
    if (runtime == nullptr) return attune::NullArgument("attune_synchronize");
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    return here->Synchronize();
  });
}

}  // extern "C"

namespace attune {
namespace {

Status MakePlan(attune_runtime* owner, const PlanKey& key, const Problem& problem, uint64_t limit,
                attune_plan** out) {
  // attune_arguments has no room for the operands of operators with an attune_run() struct.
  if (problem.op().call_bytes() != 0) {
    return InvalidArgument(fmt::format(
        "cannot make a plan for {}: plans run gemm and conv; call attune_run", Text(problem)));
  }
  ATTUNE_ASSIGN_OR_RETURN(Runtime * runtime, owner->here());
  runtime->NoteDynamic(problem, CurrentDynamicDims());
  auto slot = runtime->server().Pin(key, problem, limit);
  const Status failure = slot->current()->failure();
  if (!failure.ok()) {
    PlanServer::Unpin(*slot);
    return failure;
  }
  *out = new attune_plan(*owner, key, problem, limit, std::move(slot));
  return Status::Ok();
}

// What a plan runs may never read C (beta 0) or never scale (alpha 1), so numbers of another class
// would give wrong results without a word.
Status WrongScalars(const attune_plan& plan, const attune_arguments& arguments) {
  constexpr const char* kClasses[] = {"0", "1", "neither 0 nor 1"};
  constexpr const char* kMessage =
      "The plan is for alpha = {} and beta = {}; the arguments have {} and {}. "
      "Make a plan for each class.";
  return InvalidArgument(fmt::format(kMessage, kClasses[plan.alpha_class],
                                     kClasses[plan.beta_class], arguments.alpha, arguments.beta));
}

}  // namespace
}  // namespace attune

extern "C" {

attune_code attune_plan_gemm(attune_runtime* runtime, const attune_gemm* gemm, int alpha_class,
                             int beta_class, uint64_t workspace_limit_bytes, attune_plan** out) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(out);
    if (!runtime || !gemm || !out) return attune::NullArgument("attune_plan_gemm");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem,
                            attune::ProblemOf(*gemm, {alpha_class, beta_class, 0}));
    const auto key = attune::KeyOfCall(*gemm, {alpha_class, beta_class, 0}, workspace_limit_bytes);
    return attune::MakePlan(runtime, key, problem, workspace_limit_bytes, out);
  });
}

attune_code attune_plan_conv(attune_runtime* runtime, const attune_conv* conv,
                             uint64_t workspace_limit_bytes, attune_plan** out) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(out);
    if (!runtime || !conv || !out) return attune::NullArgument("attune_plan_conv");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(*conv, {}));
    const auto key = attune::KeyOfCall(*conv, {}, workspace_limit_bytes);
    return attune::MakePlan(runtime, key, problem, workspace_limit_bytes, out);
  });
}

attune_code attune_plan_text(attune_runtime* runtime, const char* text,
                             uint64_t workspace_limit_bytes, attune_plan** out) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(out);
    if (!runtime || !text || !out) return attune::NullArgument("attune_plan_text");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(text));
    const auto key = attune::KeyOfProblem(problem, workspace_limit_bytes);
    return attune::MakePlan(runtime, key, problem, workspace_limit_bytes, out);
  });
}

attune_code attune_plan_run(attune_plan* plan, const attune_arguments* arguments) {
  if (plan == nullptr || arguments == nullptr) {
    return attune::Fail(attune::NullArgument("attune_plan_run"));
  }
  if (!attune::HasAmpleStack()) [[unlikely]] {
    return attune::OnOwnStack([&] { return attune_plan_run(plan, arguments); },
                              attune::FailWithoutMemory);
  }
  if (attune::HasWrongSize(*arguments)) [[unlikely]]
    return attune::Fail(attune::WrongSize(*arguments));
  if (plan->alpha_class >= 0 && (attune::ScalarClassOf(arguments->alpha) != plan->alpha_class ||
                                 attune::ScalarClassOf(arguments->beta) != plan->beta_class)) {
    return attune::Fail(attune::WrongScalars(*plan, *arguments));
  }
  if (plan->takes_whole_scalars && !attune::HasWholeScalars(*arguments)) [[unlikely]] {
    return attune::Guarded(
        [&] { return attune::NotWhole(attune::Text(plan->problem), *arguments); });
  }
  attune::PlanSlot* slot = plan->current();
  attune::Runtime* runtime = plan->owner.current();
  if (slot == nullptr || runtime == nullptr) [[unlikely]] {
    const attune_code bound = attune::Guarded([&]() -> attune::Status {
      ATTUNE_ASSIGN_OR_RETURN(slot, plan->here());
      ATTUNE_ASSIGN_OR_RETURN(runtime, plan->owner.here());
      return attune::Status::Ok();
    });
    if (bound != ATTUNE_OK) return bound;
  }
  if (attune::HasDynamicDims()) [[unlikely]]
    attune::NoteDynamicHit(plan->owner, plan->key, plan->problem);
  attune::Plan& serving = *slot->current();
  if (attune::Fits(serving, *arguments)) [[likely]]
    return attune::RunPlan(runtime->server(), serving, *arguments);
  return attune::RunWithin(plan->owner,
                           attune::KeyOfProblem(plan->problem, arguments->workspace_bytes),
                           plan->problem, *arguments);
}

uint64_t attune_plan_workspace_bytes(const attune_plan* plan) {
  if (plan == nullptr) return 0;
  if (const attune::PlanSlot* slot = plan->current()) return slot->current()->workspace_bytes();
  uint64_t bytes = 0;
  // A child that cannot bind it hears why when it runs it.
  (void)attune::Guarded([&]() -> attune::Status {
    ATTUNE_ASSIGN_OR_RETURN(const attune::PlanSlot* slot, plan->here());
    bytes = slot->current()->workspace_bytes();
    return attune::Status::Ok();
  });
  return bytes;
}

void attune_plan_release(attune_plan* plan) { delete plan; }

}  // extern "C"
