// Faults that end or cripple the process that calls them.
#pragma once

#include "attune/base/status.h"
#include "backends/fake/fake_script.h"

namespace attune {

// Counts a candidate that this process has loaded.
void NoteLoad();

// Takes the device from this process. Returns the error that DeviceStatus() returns from now on.
Status LoseDevice();
// Ok, or that the device is lost.
Status DeviceStatus();

// Without the handlers of a sanitizer, so that the parent sees the signal.
[[noreturn]] void DieBy(int signal);

// Commits the fault of `behaviour` if it is one of the process (crash, abort, exit, hang, spin,
// memory_hog) or a launch error; returns Ok for all others, and does not return from most.
Status CommitProcessFault(const FakeBehaviour& behaviour);

}  // namespace attune
