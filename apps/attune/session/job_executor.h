// Does jobs of one session at one place: compiles, or measures, and reports the outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/attune/session/solver_survey.h"
#include "apps/attune/workshop.h"
#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "attune/session/job_store.h"
#include "attune/session/withheld_ends.h"
#include "attune/tuner/tuner.h"

namespace attune {

class CompilerLog;
class KernelExchange;

// The class of errors of problems of which no candidate could be evaluated at all.
inline constexpr std::string_view kInVain = "internal";

// The error class of jobs past their deadline.
inline constexpr std::string_view kTooLate = "timed_out";

// How jobs are done.
struct JobTerms {
  TuneOptions tune;
  int64_t end_ns = 0;  // When all should be over, by the steady clock; 0: never.
  // Limit for each problem and step, without waits for the machine; beyond it its jobs fail. 0:
  // none. REQUIRES: 0, or at least the time of a problem.
  int64_t deadline_ns = 0;
  std::function<bool()> stop_requested;
  int compile_threads = 1;  // Candidates that are compiled at once by jobs that only compile.
  // Receives the warnings of compilers that run in this process; null: dropped.
  CompilerLog* log = nullptr;
  // Exchanges compiled kernels, beside the kernel cache; null: none.
  KernelExchange* kernels = nullptr;
};

// Jobs of the last problems, without a break, of which nothing could be evaluated, and why: it may
// be the machine that fails, not they.
struct InVain {
  std::vector<std::vector<int64_t>> jobs;  // Grouped by problem.
  std::string message;
};

// Not thread-safe.
class JobExecutor {
 public:
  using Show = std::function<void(const Problem& problem, const TuneProgress& progress)>;

  // Borrows all but `table`, the session's solvers as they are now, and `show`, which receives the
  // progress of a problem. `workshop` is null where jobs are only compiled. Results are kept in
  // `records`, which are the session's; their sets end with the reports of Do().
  JobExecutor(const SessionPlace& place, Workshop* workshop, const JobTerms& terms,
              RecordStore& records)
      : place_(place),
        workshop_(workshop),
        options_(terms),
        records_(WithholdEnds(records, ends_)) {}

  void SetTable(SolverTable table) { table_ = std::move(table); }
  void SetShow(Show show) { show_ = std::move(show); }

  bool IsOver() const;
  // A report for each of `jobs`, which are of one problem and one step.
  Result<std::vector<JobReport>> Do(const std::vector<Job>& jobs);
  // One for each job, with the entry of its solver.
  std::vector<JobReport> ReportsOf(const std::vector<Job>& jobs, const JobError& error) const;
  const InVain& in_vain() const { return in_vain_; }

 private:
  struct Build;

  // `why`: a sentence, or nothing.
  JobError TooLate(std::string_view why) const;
  Result<std::vector<JobReport>> Compile(const std::vector<Job>& jobs);
  Result<std::vector<Build>> BuildsOf(const std::vector<Job>& jobs);
  // Empty where nothing is compiled.
  std::vector<BuildRecipe> RecipesOf(const std::vector<Build>& builds,
                                     const Problem& problem) const;
  // Gives built kernels to others.
  void Offer(const std::vector<Build>& builds, const Problem& problem) const;
  // Copies kernels that other machines compiled for `jobs` to the kernel cache of this machine.
  Status FetchKernels(const std::vector<Job>& jobs);
  Result<std::vector<JobReport>> Measure(const std::vector<Job>& jobs);
  Result<TuneReport> Tune(const std::vector<Job>& jobs);
  Result<std::map<std::string, Config>> ConfigsOf(const std::vector<Job>& jobs);
  // Null if it is gone.
  const Solver* SolverOf(const Job& job) const;
  Status CheckApplies(const Job& job) const;
  // If a candidate of the job was left out because of an earlier failure, that is why none was
  // tried.
  Status BlameQuarantine(const Job& job, JobError& error);

  const SessionPlace& place_;
  Workshop* const workshop_;
  const JobTerms& options_;
  std::set<std::string> ends_;  // Sets that end with the reports of their jobs.
  const std::unique_ptr<RecordStore> records_;
  SolverTable table_;
  Show show_ = [](const Problem&, const TuneProgress&) {};
  InVain in_vain_;
};

}  // namespace attune
