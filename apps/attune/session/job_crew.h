// The jobs of a session done by several devices at once, a process for each: what became of them
// together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/attune/device_crew.h"
#include "apps/attune/json_text.h"
#include "apps/attune/session/job_run.h"
#include "apps/attune/terminal.h"

namespace attune {

struct JobCrewSummary {
  struct Device {
    std::string name;
    int64_t done = 0;
    int64_t failed = 0;
    int compile_threads = 0;  // Of its process.
    std::string trouble;      // Why it ended before the jobs did; empty if it did not.
  };
  std::vector<Device> devices;
  // Their sums, and of compile_threads the most of one. What was queued again and what is left in
  // the end, no process knows of all.
  JobRunSummary all;
  bool is_in_vain = true;  // No process came so far as to say what it did.
};

// Of the processes' `attune tune --session --json`; a device may have had several.
JobCrewSummary SummarizeJobs(std::span<const CrewMember> members);

// That of one process, and `devices`.
Json ToJson(const JobCrewSummary& summary);
// For people: the same as of one process, then a line for each device, those in trouble last.
std::string Text(const JobCrewSummary& summary, const Screen& screen, int width);
// Those that can do what is left by others which are in trouble; none if no device is.
std::vector<std::string> DevicesToGoOnWith(const JobCrewSummary& summary);

// As of one process, and 1 where all was in vain but for an interruption.
int ExitStatusOf(const JobCrewSummary& summary);

// QueueStale before any process begins: each of several would do so, also with what another one has
// done meanwhile. No steps: all.
Result<StaleQueue> QueueStaleForCrew(Application& application, const std::vector<JobStep>& steps);

}  // namespace attune
