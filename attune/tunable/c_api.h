// Functions that the library which defines attune_runtime must provide for
// include/attune/tunable.h. c_api.cc is linked into that library and not into this module.
#pragma once

#include <string>

#include "attune/attune.h"
#include "attune/base/status.h"
#include "attune/tunable.h"
#include "attune/tunable/offline_tuning.h"
#include "attune/tunable/tunable_context.h"

namespace attune {

// The context that the run time of this process owns; a forked child makes its own first.
Result<TunableContext*> ContextOf(attune_runtime& owner);

// Defined beside attune_runtime for all of the C interface: the code of a status that is not Ok,
// with its message as attune_last_message() of this thread; and a copy of a text for attune_free.
attune_code Fail(const Status& status);
Status CopyOut(const std::string& text, char** out);

// For functions of include/attune/tunable.h that the run time's library defines itself.
// CheckRoomFor checks that `report` (may be null) has a size, before any work. Tell fills `out`,
// also if a device failed, which is then the status; other errors are kept as a message.
Status CheckRoomFor(const attune_tunable_offline* report);
Status Tell(const Result<OfflineReport>& report, attune_tunable_offline* out);

}  // namespace attune
