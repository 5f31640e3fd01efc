// Figures of a fleet on this machine: jobs that do nothing, from the queue to their committed
// results, in a second, in a new database and in turns with it in one that has 200,000 queued jobs
// of others and 200,000 compiled kernels of a few bytes; how long 100,000 take to be loaded; from a
// load to the first result; what a worker that waits costs; and how busy four hosts keep two
// devices each. On PostgreSQL and on MariaDB with NATS, which it starts on loopback, and on SQLite
// without a queue.
//
//   fleet [--on DATABASE]... [--jobs N] [--rounds N] [--stored N] [--kernels N] [--loaded N]
//         [--workers N] [--idle S] [--device-jobs N] [--json]
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bench/bench_fleet.h"
#include "bench/figures.h"
#include "bench/simulated_hosts.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

struct Options {
  int64_t jobs = 20'000;
  int rounds = 3;
  int64_t stored = 200'000;
  int64_t kernels = 200'000;
  int64_t loaded = 100'000;
  int workers = 1;
  double idle_s = 10;
  SimulatedHosts hosts;
  std::vector<std::string> databases;  // Empty: all.
  bool json = false;
  // For a process that is a simulated device.
  std::string device;
  FleetPlace place;
};

// Every job is done at once.
class NoDoer final : public JobDoer {
 public:
  std::vector<JobStep> StepsOf(const Session& session) override {
    if (session.terms.backend != "host") return {};
    return {kBenchStep};
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

double JobsPerSecond(BenchFleet& fleet, const std::string& name, const Options& options) {
  const int64_t session = fleet.NewSession(name, "host");
  fleet.Load(session, {options.jobs});
  const auto start = WallClock::now();
  std::vector<std::thread> workers;
  for (int i = 0; i < options.workers; ++i) {
    workers.emplace_back([&, i] {
      NoDoer doer;
      fleet.Work(fmt::format("{}-{}", name, i), doer, nullptr);
    });
  }
  for (std::thread& worker : workers) worker.join();
  const double took_s = SecondsSince(start);
  Require(fleet.IsDone(session) ? Status::Ok() : Internal("Jobs are left."));
  fleet.Close(session);
  return static_cast<double>(options.jobs) / took_s;
}

double LoadSeconds(BenchFleet& fleet, const Options& options) {
  const int64_t session = fleet.NewSession("loaded", "host");
  const auto start = WallClock::now();
  fleet.Load(session, {options.loaded});
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
  double core_share = 0;  // For this process, which only waits.
};

// Waits of a worker without work, and of its next job.
Waiting WaitAndDo(BenchFleet& fleet, const Options& options) {
  constexpr int kTimes = 5;
  const int64_t session = fleet.NewSession("waiting", "host");
  fleet.Load(session, {1});
  std::atomic<bool> stop = false;
  NoDoer doer;
  std::thread worker([&] { fleet.Work("waiting", doer, &stop); });
  while (!fleet.IsDone(session)) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double before_s = ProcessorSeconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.idle_s));
  Waiting waiting;
  waiting.core_share = (ProcessorSeconds() - before_s) / options.idle_s;
  std::vector<double> latencies_ms;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = WallClock::now();
    fleet.Load(session, {1});
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

// Where a new, empty database is, and a queue for it alone.
using NewPlace = std::function<FleetPlace()>;

BenchFleet FleetAt(const FleetPlace& place) { return {place.database, place.queue}; }

struct Beside {
  double alone = 0;   // Jobs per second.
  double stored = 0;  // The same beside those that are stored.
  double ratio = 0;   // Median over the rounds of one by the other.
};

// In turns, so that other load on the machine affects both sides.
Beside MeasureBeside(BenchFleet& stored, const NewPlace& new_place, const Options& options) {
  std::vector<double> alone_per_s;
  std::vector<double> stored_per_s;
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const std::string name = fmt::format("round{}", round);
    BenchFleet alone = FleetAt(new_place());
    for (const bool is_stored : {round % 2 == 1, round % 2 == 0}) {
      const double per_s = JobsPerSecond(is_stored ? stored : alone, name, options);
      (is_stored ? stored_per_s : alone_per_s).push_back(per_s);
    }
    ratios.push_back(stored_per_s.back() / alone_per_s.back());
  }
  return {MedianOf(alone_per_s), MedianOf(stored_per_s), MedianOf(ratios)};
}

// `prefix`: of the figures' names.
std::vector<Figure> FiguresOf(const NewPlace& new_place, const std::string& prefix,
                              const Options& options) {
  const FleetPlace place = new_place();
  BenchFleet fleet = FleetAt(place);
  std::vector<Figure> figures;
  const auto add = [&](const char* name, double value, const char* required) {
    figures.push_back({prefix + name, value, required});
  };
  add("load_100k_s", LoadSeconds(fleet, options), "<= 5");
  add("devices_kept_busy_of_8", DevicesKeptBusy(fleet, place, options.hosts), ">= 7.5");
  BenchFleet stored = FleetAt(new_place());
  stored.Load(stored.NewSession("stored", "elsewhere"), {options.stored});
  stored.Keep(options.kernels);
  const Beside beside = MeasureBeside(stored, new_place, options);
  add("noop_jobs_per_s", beside.alone, ">= 1000");
  add("noop_jobs_per_s_at_200k_kernels", beside.stored, ">= 1000");
  add("noop_jobs_at_200k_kernels_ratio", beside.ratio, ">= 0.95");
  const Waiting waiting = WaitAndDo(stored, options);
  add("load_to_result_ms", waiting.latency_ms, "<= 100");
  add("idle_core_share", waiting.core_share, "< 0.01");
  return figures;
}

bool IsMeant(const Options& options, std::string_view database) {
  return options.databases.empty() || std::find(options.databases.begin(), options.databases.end(),
                                                database) != options.databases.end();
}

// Nothing, and why, where a server is not installed.
Result<std::vector<Figure>> FiguresOn(ServerKind kind, const std::string& prefix,
                                      const Options& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto database, TestServer::Start(kind));
  ATTUNE_ASSIGN_OR_RETURN(const auto queue, NatsServer::Start());
  int places = 0;
  const NewPlace new_place = [&]() -> FleetPlace {
    auto url = database->NewDatabase();
    Require(url.status());
    return {*url, fmt::format("nats://{}?fleet=bench{}", queue->host(), ++places)};
  };
  return FiguresOf(new_place, prefix, options);
}

std::vector<Figure> FiguresOnFiles(const Options& options) {
  const BenchFolder folder("");
  int files = 0;
  const NewPlace new_place = [&]() -> FleetPlace {
    return {(folder.path() / fmt::format("attune{}.db", ++files)).string(), ""};
  };
  return FiguresOf(new_place, "sqlite_", options);
}

int Run(const Options& options) {
  if (!options.device.empty()) {
    return RunDevice(options.place, options.device, options.hosts.job_ms);
  }
  std::vector<Figure> figures;
  const auto add = [&](std::vector<Figure> more) {
    figures.insert(figures.end(), more.begin(), more.end());
  };
  ::setenv("ATTUNE_DB_PASSWORD", TestServer::kPassword, 1);
  // On a disk, as a fleet's database is, unless TMPDIR is set.
  ::setenv("TMPDIR", "/tmp", 0);
  std::string missing;
  const auto add_server = [&](ServerKind kind, std::string_view name, const std::string& prefix) {
    if (!IsMeant(options, name)) return;
    auto measured = FiguresOn(kind, prefix, options);
    if (measured.ok()) return add(std::move(*measured));
    missing += fmt::format("{}{}", missing.empty() ? "" : " ", measured.error().message());
  };
  add_server(ServerKind::kPostgres, "postgresql", "");
  add_server(ServerKind::kMaria, "mariadb", "mariadb_");
  if (IsMeant(options, "sqlite")) add(FiguresOnFiles(options));
  PrintFigures(figures,
               {{"missing", missing},
                {"jobs", options.jobs},
                {"rounds", options.rounds},
                {"stored", options.stored},
                {"kernels", options.kernels},
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
  app.add_option("--rounds", options.rounds, "Times that they are done with and without the stored")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--stored", options.stored, "Jobs of others in the same database")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--kernels", options.kernels, "Compiled kernels in the same database")
      ->check(CLI::NonNegativeNumber)
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
  app.add_option("--device-jobs", options.hosts.jobs_of_a_device,
                 "Jobs of each device of simulated hosts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--job-ms", options.hosts.job_ms, "What each of them takes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--on", options.databases, "Only this database; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"postgresql", "mariadb", "sqlite"}));
  app.add_flag("--json", options.json, "Print one JSON object");
  // For processes that are such devices.
  app.add_option("--device", options.device)->group("");
  app.add_option("--database", options.place.database)->group("");
  app.add_option("--queue", options.place.queue)->group("");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
