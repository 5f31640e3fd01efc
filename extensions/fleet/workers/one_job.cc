#include "extensions/fleet/workers/one_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "extensions/fleet/workers/job_reports.h"

namespace attune {
namespace {

Result<Session> SessionOf(FleetStore& fleet, const FoundJob& job) {
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, fleet.OpenSessions());
  for (const Session& session : sessions) {
    if (session.id == job.session_id) return session;
  }
  return FailedPrecondition(fmt::format("The session of job {} is closed.", job.id));
}

// Leases `wanted` and gives back the other jobs of its search.
Result<Job> LeaseAlone(const FleetParts& parts, const Session& session, const FoundJob& found,
                       const OneJob& wanted) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, parts.jobs.NowUnixNs());
  const LeaseTerms terms{{found.step}, wanted.owner, now_unix_ns, wanted.lease_ns, {wanted.id}};
  ATTUNE_ASSIGN_OR_RETURN(const auto leased, parts.jobs.Lease(found.session_id, terms));
  std::vector<Job> back;
  const Job* its = nullptr;
  for (const Job& job : leased) {
    if (job.id == wanted.id) {
      its = &job;
    } else {
      back.push_back(job);
    }
  }
  if (!back.empty()) {
    ATTUNE_RETURN_IF_ERROR(ReportNow(parts.jobs, AsGivenBack(back)).status());
  }
  if (its != nullptr) return *its;
  return FailedPrecondition(
      fmt::format("Job {} of session '{}' is {}{}, so it is not done here. 'attune jobs retry "
                  "--session NAME --job {}' queues it again once it has ended.",
                  wanted.id, session.name, Name(found.state),
                  found.state == JobState::kQueued ? " and waits for another one" : "", wanted.id));
}

}  // namespace

Status DoOneJob(const FleetParts& parts, JobDoer& doer, const OneJob& wanted,
                WorkerSummary& summary) {
  const std::vector<int64_t> ids = {wanted.id};
  ATTUNE_ASSIGN_OR_RETURN(const auto found, parts.fleet.Find(ids));
  if (found.empty()) return NotFound(fmt::format("There is no job {}.", wanted.id));
  ATTUNE_ASSIGN_OR_RETURN(const Session session, SessionOf(parts.fleet, found.front()));
  const auto steps = doer.StepsOf(session);
  if (std::find(steps.begin(), steps.end(), found.front().step) == steps.end()) {
    return FailedPrecondition(
        fmt::format("Job {} is {} in session '{}', which this worker cannot do here.", wanted.id,
                    Text(found.front().step), session.name));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Job job, LeaseAlone(parts, session, found.front(), wanted));
  LeaseKeeper keeper(parts.jobs, wanted.lease_ns);
  keeper.Hold({{job.id, job.attempts}});
  auto reports = doer.Do(session, {job});
  if (!reports.ok()) {
    const auto given_back = ReportNow(parts.jobs, AsGivenBack({&job, 1}));
    if (given_back.ok()) return reports.error();
    return Status(reports.error().code(),
                  fmt::format("{} The job could not be given back either, and stays leased for up "
                              "to {} s: {}",
                              reports.error().message(), wanted.lease_ns / 1'000'000'000,
                              given_back.error().message()));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto taken, ReportNow(parts.jobs, *reports));
  if (!taken.front()) {
    ++summary.lost;
    return Status::Ok();
  }
  CountReport(reports->front(), job, summary);
  return Status::Ok();
}

}  // namespace attune
