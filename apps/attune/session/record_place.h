// Where records are read: on a device that is here, or, for a session, as it knew its own.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "runtime/places.h"

namespace attune {

struct RecordPlace {
  Place place;                           // Without a spec where the device is not here.
  std::unique_ptr<const Backend> owned;  // For such a place: MakeAbsentBackend.

  bool has_device() const { return !place.device_spec.empty(); }
};

// The place of the device that Application::DeviceOf(`named`) names. If none is named and the
// session's device is absent, the session's knowledge of it stands in: the target, the environment
// that it fixed, and its newest table of solvers with their code. Records that are valid there
// would be valid on the device; the place reports this to its users. kFailedPrecondition if the
// session knows nothing yet, because nothing was measured in it.
Result<RecordPlace> FindRecordPlace(Application& application, const std::string& named);

// Ok if no solver of these sessions compiles anything, so that a package of `subject` ("session
// 'may'") has no kernels and can be made anywhere. Else kUnavailable, with `nothing_compiles`, why
// nothing here could. REQUIRES: a store is open.
Status CheckHaveNoKernels(Application& application, const std::set<std::string>& sessions,
                          const std::string& subject, const Status& nothing_compiles);

}  // namespace attune
