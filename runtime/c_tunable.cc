// The C function of attune/tunable.h that makes run times of its own.

#include "attune/base/process_variables.h"
#include "attune/tunable.h"
#include "attune/tunable/c_api.h"
#include "runtime/c_runtime.h"
#include "runtime/settings.h"
#include "runtime/tune_on_devices.h"

extern "C" attune_code attune_tunable_tune_on_devices(const attune_options* options,
                                                      const char* kind, int64_t count,
                                                      const char* pattern,
                                                      attune_tunable_offline* report) {
  return attune::Guarded([&]() -> attune::Status {
    if (kind == nullptr || pattern == nullptr) {
      return attune::NullArgument("attune_tunable_tune_on_devices");
    }
    ATTUNE_RETURN_IF_ERROR(attune::CheckRoomFor(report));
    ATTUNE_ASSIGN_OR_RETURN(const auto settings,
                            attune::ReadSettings(options, attune::VariablesOfProcess()));
    return attune::Tell(attune::TuneOnDevices(settings, {kind, count, pattern, {}}), report);
  });
}
