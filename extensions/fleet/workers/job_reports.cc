#include "extensions/fleet/workers/job_reports.h"

namespace attune {

std::vector<JobReport> AsGivenBack(std::span<const Job> jobs) {
  std::vector<JobReport> reports;
  for (const Job& job : jobs) {
    JobReport& report = reports.emplace_back();
    report.claim = {job.id, job.attempts};
    report.state = JobState::kQueued;
  }
  return reports;
}

Result<std::vector<bool>> ReportNow(JobStore& jobs, std::span<const JobReport> reports) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, jobs.NowUnixNs());
  return jobs.Report(reports, now_unix_ns);
}

}  // namespace attune
