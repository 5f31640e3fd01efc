// The jobs of a session done by several devices at once, a process for each: their joint outcome.
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
    int compile_threads = 0;  // For its process.
    std::string trouble;      // Why it ended before the jobs did; empty if it did not.
  };
  std::vector<Device> devices;
  // Sums over processes, except compile_threads, which is the maximum. No single process knows the
  // number of requeued jobs, or of those left at the end.
  JobRunSummary all;
  bool is_in_vain = true;  // No process printed a summary.
};

// Summarizes the output of the processes' `attune tune --session --json`; a device may have had
// several.
JobCrewSummary SummarizeJobs(std::span<const CrewMember> members);

// That of one process, and `devices`.
Json ToJson(const JobCrewSummary& summary);
// For people: the same as of one process, then a line for each device, those in trouble last.
std::string Text(const JobCrewSummary& summary, const Screen& screen, int width);
// Devices that can do the remaining jobs of failed ones; none if no device is left or none failed.
std::vector<std::string> DevicesToGoOnWith(const JobCrewSummary& summary);

// As of one process, and 1 where all was in vain but for an interruption.
int ExitStatusOf(const JobCrewSummary& summary);

// QueueStale before any process begins: otherwise each of several would do so, even for jobs that
// another one has done meanwhile. No steps: all.
Result<StaleQueue> QueueStaleForCrew(Application& application, const std::vector<JobStep>& steps);

}  // namespace attune
