// What stands behind the opaque types of the C interface.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "attune/attune.h"
#include "attune/base/cancellation_held.h"
#include "attune/base/file_size_signal.h"
#include "attune/base/import_check.h"
#include "attune/base/stack_room.h"
#include "attune/base/status.h"
#include "attune/dispatch/plan.h"
#include "attune/dispatch/plan_key.h"
#include "attune/problem/problem.h"
#include "runtime/own_stack.h"
#include "runtime/per_process.h"
#include "runtime/request.h"
#include "runtime/runtime.h"

// Thread-safe. After a fork(), the child has none of the threads that its parent's run time and the
// libraries of that compute with, and may find any lock of them taken for good. So the child makes
// a run time of its own when it first calls, and never touches that of its parent.
struct attune_runtime {
  explicit attune_runtime(std::unique_ptr<attune::Runtime> runtime);
  ~attune_runtime();
  attune_runtime(const attune_runtime&) = delete;
  attune_runtime& operator=(const attune_runtime&) = delete;

  // The run time of this process; null in a child that has made none yet.
  attune::Runtime* current() const { return runtime_.get(); }
  // The same; a child makes its own.
  attune::Result<attune::Runtime*> here();

  // The recorder of this process: its runtime's, or a separate one in a child without a runtime.
  attune::Result<attune::Recorder*> recorder();
  // The recorder if it has been used; else null.
  attune::Recorder* current_recorder() const;

  // CallClasses::wide of a call. Buffers begin where the device likes it; an address tells itself.
  bool takes_handles() const { return takes_handles_ != 0; }
  int IsWide(const attune_arguments& arguments) const {
    return takes_handles_ | attune::IsWide(arguments);
  }

 private:
  attune::Result<attune::Runtime*> MakeAgain() const;
  attune::Result<attune::Recorder*> MakeRecorder() const;

  const int takes_handles_;                                 // 0 or 1. In a child it is the same.
  attune::PerProcess<attune::Runtime> runtime_;             // Owned by the process that made it.
  attune::PerProcess<attune::Recorder> recorder_{nullptr};  // In children alone; never destroyed.
};

// A plan follows its run time: a child binds it anew when it first uses it, which is no change that
// its user could see.
struct attune_plan {
  attune_plan(attune_runtime& runtime, const attune::PlanKey& plan_key,
              const attune::Problem& plan_problem, uint64_t plan_limit,
              std::shared_ptr<attune::PlanSlot> pinned);
  ~attune_plan();
  attune_plan(const attune_plan&) = delete;
  attune_plan& operator=(const attune_plan&) = delete;

  // The slot of this process; null in a child that has not used the plan yet.
  attune::PlanSlot* current() const { return slot_.get(); }
  // The same; a child pins its own.
  attune::Result<attune::PlanSlot*> here() const;

  attune_runtime& owner;
  const attune::PlanKey key;
  const attune::Problem problem;
  const uint64_t workspace_limit_bytes;
  // What the arguments of each run have to agree with; -1: anything.
  int alpha_class = -1;
  int beta_class = -1;
  bool takes_whole_scalars = false;  // alpha and beta must be whole numbers.

 private:
  attune::Result<attune::PlanSlot*> PinAgain() const;

  // One for each process that pinned one; changed by whoever makes slot_ alone.
  mutable std::vector<std::shared_ptr<attune::PlanSlot>> pinned_;
  mutable attune::PerProcess<attune::PlanSlot> slot_;
};

namespace attune {

// The code of `status`, its message kept for attune_last_message().
attune_code Fail(const Status& status);
// As Fail(), without a Status, which may need memory.
attune_code FailWith(StatusCode code, std::string_view message) noexcept;
inline attune_code FailWithoutMemory() noexcept {
  return FailWith(StatusCode::kResourceExhausted, "There is no memory left.");
}
inline attune_code CodeOf(const Status& status) { return status.ok() ? ATTUNE_OK : Fail(status); }

// `body` returns a Status; what a library throws becomes a code, because nothing may unwind into C.
// For what writes nowhere and has to be quick.
template <class Body>
attune_code Caught(const Body& body) {
  try {
    return CodeOf(body());
  } catch (const std::bad_alloc&) {
    return FailWithoutMemory();
  } catch (const std::exception& error) {
    return FailWith(StatusCode::kInternal, error.what());
  } catch (...) {
    return FailWith(StatusCode::kInternal, "A library threw something that is no exception.");
  }
}

// Runs on a stack of attune's own if the caller's has too little room. Refuses to run anything if
// the program has replaced functions of the libraries of attune.
template <class Body>
attune_code Guarded(const Body& body) {
  if (!HasAmpleStack()) [[unlikely]] {
    return OnOwnStack([&] { return Guarded(body); }, FailWithoutMemory);
  }
  // Whatever is written on the way, into databases and caches, is not the program's.
  const FileSizeSignalHeld held;
  const CancellationHeld cancellation;
  return Caught([&]() -> Status {
    ATTUNE_RETURN_IF_ERROR(CheckOwnImports());
    return body();
  });
}

// Sets the output of a function to null until the function succeeds.
template <class T>
void Clear(T** out) {
  if (out != nullptr) *out = nullptr;
}

// For a C function that was called with a null where it needs something.
inline Status NullArgument(std::string_view function) {
  // Without a library: this is said even if the program replaces a part of one.
  return InvalidArgument("An argument of " + std::string(function) + " is null.");
}

// A copy of `text` for attune_free.
Status CopyOut(const std::string& text, char** out);

}  // namespace attune
