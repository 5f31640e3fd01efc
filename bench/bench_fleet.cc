#include "bench/bench_fleet.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "attune/ops/gemm/gemm.h"
#include "bench/figures.h"
#include "extensions/fleet/nats/nats_queue.h"
#include "extensions/fleet/workers/database_queue.h"
#include "extensions/fleet/workers/publisher.h"
#include "extensions/fleet/workers/worker.h"
#include "storage/sql/servers/database_servers.h"
#include "storage/sql/sql_store.h"

namespace attune {

BenchFleet::BenchFleet(const std::string& database, const std::string& queue)
    : has_server_(!queue.empty()) {
  SqlStoreOptions options;
  options.server_at = DatabaseServerAt;
  auto opened = OpenSqlDatabase(database, options);
  Require(opened.status());
  sessions_ = SessionsIn(*opened);
  jobs_ = JobsIn(*opened);
  fleet_ = FleetIn(*opened);
  artifacts_ = ArtifactsIn(*opened);
  if (!has_server_) {
    queue_ = std::make_unique<DatabaseQueue>(*fleet_);
    return;
  }
  auto connected = OpenNatsQueue(queue);
  Require(connected.status());
  queue_ = std::move(*connected);
}

int64_t BenchFleet::NewSession(const std::string& name, const std::string& backend) {
  Session session;
  session.name = name;
  session.terms.backend = backend;
  auto made = sessions_->Create(session);
  Require(made.status());
  return made->id;
}

void BenchFleet::Load(int64_t session_id, const BenchJobs& jobs) {
  JobLoad load;
  load.steps = {kBenchStep};
  std::vector<ProblemSolvers> problems;
  for (int64_t count = jobs.count; count > 0;) {
    ProblemSolvers& problem = problems.emplace_back();
    ++problems_;
    problem.problem = Normalized(PackedGemm(1 + problems_ % 4096, 64 + problems_ / 4096, 512));
    for (int i = 0; i < jobs.solvers_of_a_problem && count > 0; ++i, --count) {
      problem.solvers.push_back(fmt::format("solver{}", i));
    }
  }
  Require(jobs_->Load(session_id, load, problems).status());
}

void BenchFleet::Keep(int64_t kernels) {
  constexpr int64_t kAtOnce = 4096;
  for (int64_t first = 0; first < kernels; first += kAtOnce) {
    std::vector<BuiltKernel> some;
    for (int64_t i = first; i < std::min(first + kAtOnce, kernels); ++i) {
      some.push_back({FingerprintOf(fmt::format("recipe {}", i)), fmt::format("code {}", i)});
    }
    Require(artifacts_->Put(some, "bench"));
  }
}

void BenchFleet::Close(int64_t session_id) { Require(sessions_->Close(session_id, "bench")); }

void BenchFleet::Publish() {
  if (!has_server_) return;
  auto open = fleet_->OpenSessions();
  Require(open.status());
  Publisher publisher(*fleet_, *queue_, "loader");
  for (const ChannelSessions& channel : ChannelsOf(*open)) {
    if (channel.channel.step == kBenchStep) Require(publisher.Refill(channel).status());
  }
}

bool BenchFleet::IsDone(int64_t session_id) {
  const std::vector<JobStep> steps = {kBenchStep};
  auto has_open = fleet_->HasOpenJobs(session_id, steps);
  Require(has_open.status());
  return !*has_open;
}

int64_t BenchFleet::RunningWorkers() {
  auto workers = fleet_->Workers();
  Require(workers.status());
  int64_t running = 0;
  for (const WorkerState& worker : *workers) running += worker.ended_unix_ns == 0 ? 1 : 0;
  return running;
}

void BenchFleet::Work(const std::string& name, JobDoer& doer, const std::atomic<bool>* stop) {
  WorkerTerms terms;
  terms.who.name = terms.who.owner = name;
  terms.stop_requested = [stop] { return stop != nullptr && stop->load(); };
  terms.say = [](const std::string&) {};
  terms.until_done = stop == nullptr;
  Worker worker({*fleet_, *jobs_, *queue_, has_server_}, doer, terms);
  Require(worker.Run());
}

}  // namespace attune
