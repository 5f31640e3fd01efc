#include "extensions/fleet/workers/fair_share.h"

#include <tuple>

namespace attune {
namespace {

// One session's jobs that are not chosen yet.
struct Line {
  int64_t session_id = 0;
  int64_t in_flight = 0;
  std::vector<LeasableJob> jobs;
  size_t next = 0;

  bool is_empty() const { return next == jobs.size(); }
  // The smaller rank goes first.
  std::tuple<int64_t, int64_t, bool, int64_t> Rank(int64_t last_session_id) const {
    return {-jobs[next].priority, in_flight, session_id <= last_session_id, session_id};
  }
};

Line LineOf(const Backlog& backlog, const std::set<QueuedJob>& chosen) {
  Line line;
  line.session_id = backlog.session_id;
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

FairChoice ChooseFairly(const std::vector<Backlog>& backlogs, const std::set<QueuedJob>& chosen,
                        int64_t most, int64_t last_session_id) {
  std::vector<Line> lines;
  for (const Backlog& backlog : backlogs) lines.push_back(LineOf(backlog, chosen));
  FairChoice choice{{}, last_session_id};
  while (std::ssize(choice.jobs) < most) {
    Line* first = nullptr;
    for (Line& line : lines) {
      if (line.is_empty()) continue;
      const bool is_before = first == nullptr || line.Rank(choice.last_session_id) <
                                                     first->Rank(choice.last_session_id);
      if (is_before) first = &line;
    }
    if (first == nullptr) break;
    const LeasableJob& job = first->jobs[first->next++];
    choice.jobs.push_back({job.id, job.attempts});
    choice.last_session_id = first->session_id;
    ++first->in_flight;
  }
  return choice;
}

}  // namespace attune
