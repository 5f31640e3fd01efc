// Figures of a fleet on this machine: jobs that do nothing, from the queue to their committed
// results, in a second; the same beside 200,000 stored jobs of others; how long 100,000 take to be
// loaded; from a load to the first result; and what a worker that waits costs. On PostgreSQL and
// NATS, which it starts on loopback, and on SQLite without a queue.
//
//   fleet [--jobs N] [--stored N] [--loaded N] [--workers N] [--idle S] [--json]
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/base/unix_time.h"
#include "attune/fleet/database_queue.h"
#include "attune/fleet/publisher.h"
#include "attune/fleet/worker.h"
#include "attune/problem/gemm.h"
#include "attune/session/session_store.h"
#include "bench/figures.h"
#include "storage/nats/nats_queue.h"
#include "storage/sql/servers/database_servers.h"
#include "storage/sql/sql_store.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

constexpr JobStep kMeasure = {JobSearch::kPerf, JobWork::kMeasure};
constexpr int kSolversOfAProblem = 10;

struct Options {
  int64_t jobs = 20'000;
  int64_t stored = 200'000;
  int64_t loaded = 100'000;
  int workers = 1;
  double idle_s = 10;
  bool json = false;
};

// Every job is done at once.
class NoDoer final : public JobDoer {
 public:
  std::vector<JobStep> StepsOf(const Session& session) override {
    if (session.terms.backend != "host") return {};
    return {kMeasure};
  }
  void LookAgain() override {}
  Result<std::vector<JobReport>> Do(const Session&, const std::vector<Job>& jobs) override {
    std::vector<JobReport> reports;
    for (const Job& job : jobs)
      reports.push_back({{job.id, job.attempts}, JobState::kDone, 0, "s", {}});
    return reports;
  }
  std::string WhyNoMore() override { return ""; }
};

// A database with a queue.
class Fleet {
 public:
  Fleet(const std::string& database, const std::string& queue) {
    SqlStoreOptions options;
    options.server_at = DatabaseServerAt;
    auto opened = OpenSqlDatabase(database, options);
    Require(opened.status());
    sessions_ = SessionsIn(*opened);
    jobs_ = JobsIn(*opened);
    fleet_ = FleetIn(*opened);
    has_server_ = !queue.empty();
    if (!has_server_) {
      queue_ = std::make_unique<DatabaseQueue>(*fleet_);
      return;
    }
    auto connected = OpenNatsQueue(queue);
    Require(connected.status());
    queue_ = std::move(*connected);
  }

  int64_t NewSession(const std::string& name, const std::string& backend) {
    Session session;
    session.name = name;
    session.terms.backend = backend;
    auto made = sessions_->Create(session);
    Require(made.status());
    return made->id;
  }
  // So many jobs of problems that are new, by themselves or with others.
  void Load(int64_t session_id, int64_t count) {
    JobLoad load;
    load.steps = {kMeasure};
    std::vector<ProblemSolvers> problems;
    while (count > 0) {
      ProblemSolvers& problem = problems.emplace_back();
      ++problems_;
      problem.problem = Normalized(PackedGemm(1 + problems_ % 4096, 64 + problems_ / 4096, 512));
      for (int i = 0; i < kSolversOfAProblem && count > 0; ++i, --count) {
        problem.solvers.push_back(fmt::format("solver{}", i));
      }
    }
    Require(jobs_->Load(session_id, load, problems).status());
  }
  void Close(int64_t session_id) { Require(sessions_->Close(session_id, "bench")); }
  void Publish() {
    if (!has_server_) return;
    auto open = fleet_->OpenSessions();
    Require(open.status());
    Publisher publisher(*fleet_, *queue_, "loader");
    for (const ChannelSessions& channel : ChannelsOf(*open)) {
      if (channel.channel.step == kMeasure) Require(publisher.Refill(channel).status());
    }
  }
  bool IsDone(int64_t session_id) {
    const std::vector<JobStep> steps = {kMeasure};
    auto has_open = fleet_->HasOpenJobs(session_id, steps);
    Require(has_open.status());
    return !*has_open;
  }

  // Until nothing is left, or `stop` says so.
  void Work(const std::string& name, const std::atomic<bool>* stop) {
    NoDoer doer;
    WorkerTerms terms;
    terms.who.name = terms.who.owner = name;
    terms.stop_requested = [stop] { return stop != nullptr && stop->load(); };
    terms.say = [](const std::string&) {};
    terms.until_done = stop == nullptr;
    Worker worker({*fleet_, *jobs_, *queue_, has_server_}, doer, terms);
    Require(worker.Run());
  }

 private:
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<FleetStore> fleet_;
  std::unique_ptr<JobQueue> queue_;
  bool has_server_ = false;
  int64_t problems_ = 0;
};

double JobsPerSecond(Fleet& fleet, const std::string& name, const Options& options) {
  const int64_t session = fleet.NewSession(name, "host");
  fleet.Load(session, options.jobs);
  const auto start = WallClock::now();
  std::vector<std::thread> workers;
  for (int i = 0; i < options.workers; ++i) {
    workers.emplace_back([&, i] { fleet.Work(fmt::format("{}-{}", name, i), nullptr); });
  }
  for (std::thread& worker : workers) worker.join();
  const double took_s = SecondsSince(start);
  Require(fleet.IsDone(session) ? Status::Ok() : Internal("Jobs are left."));
  fleet.Close(session);
  return static_cast<double>(options.jobs) / took_s;
}

double LoadSeconds(Fleet& fleet, const Options& options) {
  const int64_t session = fleet.NewSession("loaded", "host");
  const auto start = WallClock::now();
  fleet.Load(session, options.loaded);
  const double took_s = SecondsSince(start);
  fleet.Close(session);
  return took_s;
}

double ProcessorSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Waiting {
  double latency_ms = 0;
  double core_share = 0;  // Of this process, which does nothing but wait.
};

// Of a worker that has nothing to do, and then a job.
Waiting WaitAndDo(Fleet& fleet, const Options& options) {
  constexpr int kTimes = 5;
  const int64_t session = fleet.NewSession("waiting", "host");
  fleet.Load(session, 1);
  std::atomic<bool> stop = false;
  std::thread worker([&] { fleet.Work("waiting", &stop); });
  while (!fleet.IsDone(session)) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double before_s = ProcessorSeconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.idle_s));
  Waiting waiting;
  waiting.core_share = (ProcessorSeconds() - before_s) / options.idle_s;
  std::vector<double> latencies_ms;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = WallClock::now();
    fleet.Load(session, 1);
    fleet.Publish();
    while (!fleet.IsDone(session)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    latencies_ms.push_back(1e3 * SecondsSince(start));
  }
  waiting.latency_ms = MedianOf(latencies_ms);
  stop = true;
  worker.join();
  fleet.Close(session);
  return waiting;
}

// `prefix`: of the figures' names.
std::vector<Figure> FiguresOf(Fleet& fleet, const std::string& prefix, const Options& options) {
  std::vector<Figure> figures;
  const auto add = [&](const char* name, double value, const char* required) {
    figures.push_back({prefix + name, value, required});
  };
  add("noop_jobs_per_s", JobsPerSecond(fleet, "first", options), ">= 1000");
  add("load_100k_s", LoadSeconds(fleet, options), "<= 5");
  const int64_t stored = fleet.NewSession("stored", "elsewhere");
  fleet.Load(stored, options.stored);
  add("noop_jobs_per_s_at_200k_kernels", JobsPerSecond(fleet, "second", options), ">= 1000");
  const Waiting waiting = WaitAndDo(fleet, options);
  add("load_to_result_ms", waiting.latency_ms, "<= 100");
  add("idle_core_share", waiting.core_share, "< 0.01");
  return figures;
}

int Run(const Options& options) {
  std::vector<Figure> figures;
  std::string servers = "postgresql and nats";
  auto database = TestServer::Start(ServerKind::kPostgres);
  auto queue = NatsServer::Start();
  if (database.ok() && queue.ok()) {
    ::setenv("ATTUNE_DB_PASSWORD", TestServer::kPassword, 1);
    auto url = (*database)->NewDatabase();
    Require(url.status());
    Fleet fleet(*url, "nats://" + (*queue)->host());
    figures = FiguresOf(fleet, "", options);
  } else {
    servers = std::string((database.ok() ? queue.status() : database.status()).message());
  }
  const BenchFolder folder("");
  Fleet fleet((folder.path() / "attune.db").string(), "");
  for (Figure& figure : FiguresOf(fleet, "sqlite_", options)) figures.push_back(std::move(figure));
  PrintFigures(figures,
               {{"servers", servers},
                {"jobs", options.jobs},
                {"stored", options.stored},
                {"loaded", options.loaded},
                {"workers", options.workers}},
               options.json);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("Figures of a fleet whose jobs do nothing");
  app.add_option("--jobs", options.jobs, "Jobs that are done")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--stored", options.stored, "Jobs of others in the same database")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--loaded", options.loaded, "Jobs that are loaded at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--workers", options.workers, "Workers that do them, threads of this process")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--idle", options.idle_s, "Seconds for which a worker waits")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
