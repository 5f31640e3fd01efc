#include "runtime/c_runtime.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "attune/base/exit_gate.h"
#include "attune/base/host_messages.h"
#include "attune/ops/gemm/gemm.h"

namespace {

// Runs before the code of a program that links the library.
__attribute__((constructor)) void AtLoad() { attune::NoteStandardStreams(); }

}  // namespace

attune_runtime::attune_runtime(std::unique_ptr<attune::Runtime> runtime)
    : takes_handles_(runtime->takes_handles() ? 1 : 0), runtime_(runtime.release()) {}

attune_runtime::~attune_runtime() {
  // Problems that wait to be recorded, and results, may be written.
  const attune::FileSizeSignalHeld held;
  // Of a parent's, a child can end nothing: its threads are not here and its files are shared.
  std::unique_ptr<attune::Runtime> runtime(runtime_.get());
  // The background has ended, and destructors of libraries may need what an exit has destroyed.
  if (attune::ExitGate::IsClosed()) static_cast<void>(runtime.release());
}

attune::Result<attune::Runtime*> attune_runtime::here() {
  if (attune::Runtime* runtime = runtime_.get()) return runtime;
  return runtime_.GetOrMake([this] { return MakeAgain(); });
}

// With the options that the first one was made with, and the switches that the last one had.
attune::Result<attune::Runtime*> attune_runtime::MakeAgain() const {
  attune::Runtime& parents = *runtime_.last();
  attune::RuntimeOptions options = parents.options();
  if (auto switches = parents.tunable().TrySwitches()) options.tunable = std::move(*switches);
  ATTUNE_ASSIGN_OR_RETURN(auto made, attune::Runtime::Create(options));
  return made.release();
}

attune::Recorder* attune_runtime::current_recorder() const {
  const attune::Runtime* runtime = runtime_.get();
  return runtime == nullptr ? recorder_.get() : runtime->recorder();
}

attune::Result<attune::Recorder*> attune_runtime::recorder() {
  if (attune::Recorder* known = current_recorder()) return known;
  if (runtime_.get() != nullptr || runtime_.last()->recorder() == nullptr) {
    return attune::FailedPrecondition("The policy of this run time does not record problems.");
  }
  return recorder_.GetOrMake([this] { return MakeRecorder(); });
}

// Reads only the options of the parent's runtime, because its locks may never be released.
attune::Result<attune::Recorder*> attune_runtime::MakeRecorder() const {
  auto* made = new attune::Recorder(attune::RecorderOptionsOf(runtime_.last()->options()));
  // Neither object is destroyed: both live until the process ends.
  static_cast<void>(new attune::StopAtExit([made](std::chrono::nanoseconds left) {
    const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(left);
    (void)made->Close(std::min(patience, attune::kLongestRecording));
  }));
  return made;
}

attune_plan::attune_plan(attune_runtime& runtime, const attune::PlanKey& plan_key,
                         const attune::Problem& plan_problem, uint64_t plan_limit,
                         std::shared_ptr<attune::PlanSlot> pinned)
    : owner(runtime),
      key(plan_key),
      problem(plan_problem),
      workspace_limit_bytes(plan_limit),
      pinned_{std::move(pinned)},
      slot_(pinned_.front().get()) {
  if (const auto* gemm = problem.As<attune::Gemm>()) {
    alpha_class = static_cast<int>(gemm->alpha);
    beta_class = static_cast<int>(gemm->beta);
    takes_whole_scalars =
        gemm->c_type == attune::DataType::kI32 || gemm->c_type == attune::DataType::kI8;
  }
}

attune_plan::~attune_plan() {
  for (const auto& slot : pinned_) attune::PlanServer::Unpin(*slot);
}

attune::Result<attune::PlanSlot*> attune_plan::here() const {
  if (attune::PlanSlot* slot = slot_.get()) return slot;
  return slot_.GetOrMake([this] { return PinAgain(); });
}

attune::Result<attune::PlanSlot*> attune_plan::PinAgain() const {
  ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * runtime, owner.here());
  pinned_.push_back(runtime->server().Pin(key, problem, workspace_limit_bytes));
  return pinned_.back().get();
}
