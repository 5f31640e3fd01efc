// The backends that our programs and the run time have, and the devices on them. The one place that
// names them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/record/select.h"
#include "attune/solver/backend.h"

namespace attune {

// Host first. A plug-in that cannot be loaded is named in `refused` with the reason, which is no
// error: what is missing is shown by `attune devices`.
struct LoadedBackends {
  BackendList list;
  struct Refusal {
    std::string plugin;  // Empty: every one, because their folder is missing.
    std::string reason;
    std::string chosen_by;  // The environment variable that asked for it; empty if none did.
  };
  std::vector<Refusal> refused;
};
// Beside the usual ones, every backend plug-in that ATTUNE_PLUGINS names (separated by commas), and
// every tool whose description ATTUNE_TOOLS names (separated by ':').
LoadedBackends LoadBackends();

// The same backends for a program that uses one device and has to start quickly: a plug-in is
// loaded when its devices are asked for, so the one that has the device should come first. One that
// cannot be loaded has no devices.
BackendList LazyBackends();

// A device as records are matched against it.
struct Place {
  const Backend* backend = nullptr;
  std::string device_spec;
  Target target;
  Environment environment;  // What a tuning run of this process would record now.
  std::string identity;     // DeviceReport::identity.
  size_t cache_bytes = 0;   // DeviceReport::cache_bytes.
};

// That there is no device of backend `kind`, with what its backend misses.
Status NoDeviceOf(const BackendList& backends, std::string_view kind);

// Which of its kind the device is: 3 for "cuda:3", 0 for one without a number.
int OrdinalOf(std::string_view device_spec);

// The rules of choosing there: the usual ones, and only solvers that still exist.
SelectOptions SelectionAt(const Place& place);

// The place called `device_spec`; kNotFound lists the devices that exist, kUnavailable says why an
// existing one cannot be used.
Result<Place> FindPlace(const BackendList& backends, const std::string& device_spec);

// The same for measuring there, which takes environment variables at their word:
// kFailedPrecondition names one whose plug-in, library or folder cannot be used, or which is no
// policy of waiting, rather than to measure what was not meant.
Result<Place> FindPlaceToMeasure(const LoadedBackends& backends, const std::string& device_spec);

}  // namespace attune
