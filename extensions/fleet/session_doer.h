// Does the jobs of any session on one device of this machine, and with the compilers on it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/index_keeper.h"
#include "apps/attune/session/job_executor.h"
#include "apps/attune/session/kernel_exchange.h"
#include "apps/attune/workshop.h"
#include "extensions/fleet/machine_wait.h"
#include "extensions/fleet/workers/job_doer.h"
#include "runtime/places.h"

namespace attune {

struct DoerTerms {
  std::string device;  // Device of measure jobs; empty: none are done.
  int compile = 0;     // Simultaneous compilations; 0: no compile jobs.
  JobTerms jobs;       // compile_threads is `compile`.
  WorkshopLimits limits;
  bool shares_kernels = false;  // Through the database.
  std::string owner;            // The owner of leases.
  std::function<void(const std::string& line)> say;
};

class SessionDoer final : public JobDoer {
 public:
  // Borrows `application`, with an open store. kNotFound or kUnavailable if the device cannot be
  // used.
  static Result<std::unique_ptr<SessionDoer>> Create(Application& application, DoerTerms terms);
  ~SessionDoer() override;

  std::vector<JobStep> StepsOf(const Session& session) override;
  void LookAgain() override { answers_.clear(); }
  Result<std::vector<JobReport>> Do(const Session& session, const std::vector<Job>& jobs) override;
  std::string WhyNoMore() override;

  // The device for measurements; nothing without one.
  const std::optional<Place>& device() const { return device_; }

 private:
  // The place for one kind of work of a session.
  struct Bench {
    int64_t session_id = 0;
    JobWork work = JobWork::kMeasure;
    SessionPlace place;
    std::unique_ptr<Workshop> workshop;
    std::unique_ptr<RecordStore> records;
    std::unique_ptr<JobExecutor> executor;
    std::map<std::string, int64_t> known_solvers;  // Solver ids by name.
  };
  struct Answer {
    SessionTerms terms;
    std::vector<JobStep> steps;
  };

  SessionDoer(Application& application, DoerTerms terms, std::string database);
  std::vector<JobStep> FindSteps(const Session& session);
  Status CheckMeasures(const Session& session) const;
  Status CheckCompiles(const Session& session) const;
  Result<Bench*> BenchFor(const Session& session, JobWork work);
  void NoteTuned();
  // Opens this worker's device; waits for the machine.
  Result<std::unique_ptr<Workshop>> OpenWorkshop();
  // Reports waits for the machine, from the stage of a job.
  void NoteStage(TuneProgress::Stage stage);
  // Asks the session's solvers about its problems, some of which may be new.
  Status Survey(const Session& session, Bench& bench);
  // Queues again the jobs of problems that could not be evaluated, on any bench.
  Status LeaveToOthers(const Bench& bench);

  Application& application_;
  DoerTerms terms_;
  KernelExchange kernels_;
  MachineWait machine_wait_;
  std::optional<Place> device_;
  std::map<int64_t, Answer> answers_;
  std::vector<std::unique_ptr<Bench>> benches_;  // The last used one at the end.
  SteadyClock clock_;
  IndexKeeper index_;
  bool has_measured_ = false;  // And not yet notified the index.
};

}  // namespace attune
