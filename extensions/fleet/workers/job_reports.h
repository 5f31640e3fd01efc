// Reports of leased jobs by the process that holds the leases.
#pragma once

#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job_store.h"

namespace attune {

// Reports that queue them again, unchanged.
std::vector<JobReport> AsGivenBack(std::span<const Job> jobs);

// JobStore::Report, now by the clock of the database.
Result<std::vector<bool>> ReportNow(JobStore& jobs, std::span<const JobReport> reports);

}  // namespace attune
