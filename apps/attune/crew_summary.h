// The results of a list that several devices tuned together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/attune/device_crew.h"
#include "apps/attune/json_text.h"
#include "apps/attune/outcome_counts.h"
#include "apps/attune/terminal.h"

namespace attune {

struct CrewSummary {
  struct Device {
    std::string name;
    int64_t tuned = 0;
    int64_t wall_ns = 0;
    int64_t busy_ns = 0;         // Building, verifying or measuring.
    int64_t device_busy_ns = 0;  // Launches of candidates.
    std::string trouble;         // Why it did not go on to the end of the list; empty if it did.
  };
  std::vector<Device> devices;
  // As those of `attune tune --json`, in the order of the list: for each problem the entry of the
  // device that got furthest with it, and that device under "device".
  std::vector<Json> problems;
  int64_t wall_ns = 0;  // The longest of any device.
};

// The trouble of a device whose process printed no summary.
std::string WhyItSaidNothing(const CrewMember& member);

// A device whose process printed no summary is in trouble and tuned nothing that is counted;
// everything that it finished is in the database all the same.
CrewSummary Summarize(std::span<const CrewMember> members);

// One object: the counts of `attune tune --json`, and `devices`.
Json ToJson(const CrewSummary& summary);

// For people: counts, then a line for each device, those in trouble last.
std::string SummaryText(const CrewSummary& summary, const Screen& screen, int width);

// A problem counts once, however many devices were at it. Nothing at all is in vain: no process
// came so far as to say anything.
OutcomeCounts CountOutcomes(const CrewSummary& summary);

}  // namespace attune
