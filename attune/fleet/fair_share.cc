#include "attune/fleet/fair_share.h"

#include <tuple>

namespace attune {
namespace {

// One session's jobs that are not chosen yet.
struct Line {
  int64_t in_flight = 0;
  std::vector<LeasableJob> jobs;
  size_t next = 0;

  bool is_empty() const { return next == jobs.size(); }
  int64_t priority() const { return jobs[next].priority; }
};

Line LineOf(const Backlog& backlog, const std::set<QueuedJob>& chosen) {
  Line line;
  line.in_flight = backlog.leased;
  for (const LeasableJob& job : backlog.jobs) {
    if (chosen.contains({job.id, job.attempts})) {
      ++line.in_flight;
    } else {
      line.jobs.push_back(job);
    }
  }
  return line;
}

}  // namespace

std::vector<QueuedJob> ChooseFairly(const std::vector<Backlog>& backlogs,
                                    const std::set<QueuedJob>& chosen, int64_t most) {
  std::vector<Line> lines;
  for (const Backlog& backlog : backlogs) lines.push_back(LineOf(backlog, chosen));
  std::vector<QueuedJob> jobs;
  while (std::ssize(jobs) < most) {
    Line* first = nullptr;
    for (Line& line : lines) {
      if (line.is_empty()) continue;
      const bool is_before =
          first == nullptr || std::tuple(-line.priority(), line.in_flight) <
                                  std::tuple(-first->priority(), first->in_flight);
      if (is_before) first = &line;
    }
    if (first == nullptr) break;
    const LeasableJob& job = first->jobs[first->next++];
    jobs.push_back({job.id, job.attempts});
    ++first->in_flight;
  }
  return jobs;
}

}  // namespace attune
