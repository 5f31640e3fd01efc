// Checks that a session holds exactly the results of its jobs, whatever happened to the workers.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attune/record/record.h"
#include "attune/session/job.h"

namespace attune {

// One session in the database.
struct SessionState {
  std::vector<Job> jobs;
  std::vector<RecordedSet> sets;  // With trials of every role.
};

// Problems, as texts, and solvers, for each of which there has to be one measure job.
using ExpectedJobs = std::set<std::pair<std::string, std::string>>;

// Sentences; empty if all is as it has to be: there are those jobs and no others, each has ended;
// one that is done has a result in one set that is at its end, the one that it names, which is of
// the attempt that was taken; one that failed has none, and says why; and no other set is at its
// end, as one of an attempt that was fenced off would be.
std::vector<std::string> Contradictions(const SessionState& session, const ExpectedJobs& expected);

}  // namespace attune
