// A database with its queue, as the benches of a fleet use them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "attune/session/artifact_store.h"
#include "attune/session/fleet_store.h"
#include "attune/session/job_store.h"
#include "attune/session/session_store.h"
#include "extensions/fleet/queue/job_queue.h"
#include "extensions/fleet/workers/job_doer.h"

namespace attune {

inline constexpr JobStep kBenchStep = {JobSearch::kPerf, JobWork::kMeasure};

// Jobs of a load.
struct BenchJobs {
  int64_t count = 0;
  int solvers_of_a_problem = 10;
};

// Any failure ends the program.
class BenchFleet {
 public:
  // Without a queue jobs are taken from the database itself.
  BenchFleet(const std::string& database, const std::string& queue);

  int64_t NewSession(const std::string& name, const std::string& backend);
  // Jobs of problems that are new, by themselves or with others.
  void Load(int64_t session_id, const BenchJobs& jobs);
  // So many compiled kernels, small and all different, each of a recipe of its own.
  void Keep(int64_t kernels);
  void Close(int64_t session_id);
  void Publish();
  bool IsDone(int64_t session_id);
  int64_t RunningWorkers();

  // Until nothing is left, or `stop` returns true.
  void Work(const std::string& name, JobDoer& doer, const std::atomic<bool>* stop);

 private:
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<FleetStore> fleet_;
  std::unique_ptr<ArtifactStore> artifacts_;
  std::unique_ptr<JobQueue> queue_;
  bool has_server_ = false;
  int64_t problems_ = 0;
};

}  // namespace attune
