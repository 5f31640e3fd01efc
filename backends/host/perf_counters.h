// Counters of the processor, by Linux's perf events.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/counter_source.h"

namespace attune::host {

// perf_event_open(2) for one thread on any processor: a descriptor, or -1 with errno.
using OpenPerfEvent = std::function<int(perf_event_attr& event, pid_t thread)>;
int OpenPerfEventOfKernel(perf_event_attr& event, pid_t thread);

// The counters by perf's names: "cycles", "instructions", "LLC-loads", "task-clock" (in ns), ...
std::vector<std::string> PerfCounterNames();

// Counts a call of `run` in all threads of this process and those that they begin meanwhile,
// outside of the kernel. If there are more counters than the processor counts at a time, each is
// scaled by its share of the time. kNotFound for a name that is not in PerfCounterNames();
// kUnsupported where the processor, as most virtual ones, has no such counter; kUnavailable, with
// the permission it takes, where the system keeps it from this process.
std::unique_ptr<CounterSource> MakePerfCounters(OpenPerfEvent open = OpenPerfEventOfKernel);

// Ok if the processor's cycles can be counted here, or why not. Counts nothing.
Status CheckPerfCounters(const OpenPerfEvent& open = OpenPerfEventOfKernel);

}  // namespace attune::host
