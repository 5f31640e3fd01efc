// What stands behind the opaque types of the C interface.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "attune/attune.h"
#include "attune/base/status.h"
#include "attune/dispatch/plan.h"
#include "attune/runtime/runtime.h"

// Thread-safe. After a fork(), the child has none of the threads of its parent's run time, and may
// find any lock of it taken for good. So what the parent made goes on serving what it has at hand,
// which takes no lock, and for everything else the child makes a run time of its own.
struct attune_runtime {
  explicit attune_runtime(std::unique_ptr<attune::Runtime> runtime);
  ~attune_runtime();
  attune_runtime(const attune_runtime&) = delete;
  attune_runtime& operator=(const attune_runtime&) = delete;

  // For hits, in whatever process.
  attune::Runtime& current() { return *current_.load(std::memory_order_acquire); }
  // Of this process.
  attune::Result<attune::Runtime*> here();

 private:
  std::atomic<attune::Runtime*> current_;  // Owned by the process maker_.
  std::atomic<pid_t> maker_;
  std::mutex fork_mutex_;  // Held while a child makes its own; never in the first process.
};

struct attune_plan {
  attune_runtime* owner = nullptr;
  std::shared_ptr<attune::PlanSlot> slot;
  // What the arguments of each run have to agree with; -1: anything.
  int alpha_class = -1;
  int beta_class = -1;
};

namespace attune {

// The code of `status`, its message kept for attune_last_message().
attune_code Fail(const Status& status);
inline attune_code CodeOf(const Status& status) { return status.ok() ? ATTUNE_OK : Fail(status); }

// `body` returns a Status; what a library throws becomes a code, because nothing may unwind into C.
template <class Body>
attune_code Guarded(const Body& body) {
  try {
    return CodeOf(body());
  } catch (const std::bad_alloc&) {
    return Fail(ResourceExhausted("There is no memory left."));
  } catch (const std::exception& error) {
    return Fail(Internal(error.what()));
  } catch (...) {
    return Fail(Internal("A library threw something that is no exception."));
  }
}

// For a C function that was called with a null where it needs something.
inline Status NullArgument(std::string_view function) {
  return InvalidArgument(fmt::format("An argument of {} is null.", function));
}

// A copy of `text` for attune_free.
Status CopyOut(const std::string& text, char** out);

}  // namespace attune
