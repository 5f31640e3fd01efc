// What stands behind the opaque types of the C interface.
#pragma once

#include <memory>
#include <new>
#include <string>

#include "attune/attune.h"
#include "attune/base/status.h"
#include "attune/dispatch/plan.h"
#include "attune/runtime/runtime.h"

struct attune_runtime {
  std::unique_ptr<attune::Runtime> runtime;
};

struct attune_plan {
  attune_runtime* owner = nullptr;
  std::shared_ptr<attune::PlanSlot> slot;
  attune::Problem problem;
  uint64_t workspace_limit_bytes = attune::kNoWorkspaceLimit;
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
  }
}

// A copy of `text` for attune_free.
Status CopyOut(const std::string& text, char** out);

}  // namespace attune
