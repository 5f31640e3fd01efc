// A fleet of hosts in a network of their own: workers, three NATS servers that keep everything
// three times, and PostgreSQL. All of them are killed and disconnected by the clock.
// ATTUNE_CHAOS_ROUNDS is the number of rounds (default 1), ATTUNE_CHAOS_JOBS the number of jobs in
// each (60), ATTUNE_CHAOS_SEED the seed of the moments (1). The events of a round follow from the
// seed and the round's number: ATTUNE_CHAOS_FIRST is the number of the first (0), to resume where
// another run has ended or to repeat one round. After ATTUNE_CHAOS_MINUTES no further round begins.
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/base/steady_time.h"
#include "extensions/fleet/nats/handles.h"
#include "storage/sql/connection.h"
#include "storage/sql/free_text.h"
#include "storage/sql/servers/database_servers.h"
#include "tests/fleet/attune_processes.h"
#include "tests/fleet/fleet_fixture.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/test_network.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

using std::chrono::milliseconds;

// Hosts: the console (watches and loads), the database, the servers of the queue, the workers.
constexpr size_t kConsole = 0;
constexpr size_t kDatabase = 1;
constexpr size_t kFirstQueue = 2;
constexpr size_t kQueues = 3;
constexpr size_t kFirstWorker = kFirstQueue + kQueues;
constexpr size_t kWorkers = 4;
constexpr size_t kHosts = kFirstWorker + kWorkers;
constexpr uint16_t kRoutePort = 6222;

constexpr int64_t kPatienceNs = 300'000'000'000;
constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr int kMostProblems = 4096;
constexpr int kFewestEvents = 3;
constexpr int kMostEvents = 8;

int64_t NumberFrom(const char* variable, int64_t usual) {
  const char* text = std::getenv(variable);
  return text == nullptr ? usual : std::atoll(text);
}

class FleetNetworkChaosTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto network = TestNetwork::Make(kHosts);
    if (!network.ok()) GTEST_SKIP() << network.status().message();
    network_ = std::move(*network);
    ASSERT_EQ(network_->Enter(kConsole), Status::Ok());
    StartDatabase();
    if (IsSkipped() || HasFatalFailure()) return;
    StartQueues();
    if (IsSkipped() || HasFatalFailure()) return;
    ::setenv("ATTUNE_DB_PASSWORD", TestServer::kPassword, 1);
    for (size_t host = 0; host < kHosts; ++host) {
      auto& processes = hosts_.emplace_back(std::make_unique<AttuneProcesses>(ATTUNE_PROGRAM));
      processes->SetHost(fmt::format("host{}", host));
      processes->Set("ATTUNE_DB", url_);
      processes->Set("ATTUNE_QUEUE", QueueUrl());
      processes->Set("ATTUNE_PLUGINS", "fake");
      // One solver always fails, so that failures can be told from losses.
      processes->Set("ATTUNE_FAKE_SCRIPT", "fake.library fault=crash");
    }
    Run({"session", "new", "first", "--device", "fake"});
    SqlStoreOptions options;
    options.server_at = DatabaseServerAt;
    database_ = std::make_unique<FleetDatabase>(OpenSqlDatabase(url_, options).value());
  }
  void TearDown() override {
    hosts_.clear();
    database_.reset();
  }

  void StartDatabase() {
    const Status started = network_->On(kDatabase, [&]() -> Status {
      TestServerTerms terms;
      terms.address = TestNetwork::AddressOf(kDatabase);
      ATTUNE_ASSIGN_OR_RETURN(server_, TestServer::Start(ServerKind::kPostgres, terms));
      ATTUNE_ASSIGN_OR_RETURN(url_, server_->NewDatabase());
      return Status::Ok();
    });
    if (started.code() == StatusCode::kNotFound) GTEST_SKIP() << started.message();
    ASSERT_EQ(started, Status::Ok());
  }
  void StartQueues() {
    std::string routes;
    for (size_t i = 0; i < kQueues; ++i) {
      routes += fmt::format("{}\"nats-route://{}:{}\"", i == 0 ? "" : ", ",
                            TestNetwork::AddressOf(kFirstQueue + i), kRoutePort);
    }
    for (size_t i = 0; i < kQueues; ++i) {
      const std::string address = TestNetwork::AddressOf(kFirstQueue + i);
      const Status started = network_->On(kFirstQueue + i, [&]() -> Status {
        ATTUNE_ASSIGN_OR_RETURN(
            auto queue,
            NatsServer::Start(fmt::format("server_name: queue{}\n"
                                          "cluster {{ name: c, listen: \"{}:{}\", routes: [{}] }}",
                                          i, address, kRoutePort, routes),
                              address));
        queues_.push_back(std::move(queue));
        return Status::Ok();
      });
      if (started.code() == StatusCode::kNotFound) GTEST_SKIP() << started.message();
      ASSERT_EQ(started, Status::Ok());
    }
  }
  std::string QueueUrl() const {
    std::string hosts;
    for (const auto& queue : queues_) hosts += (hosts.empty() ? "" : ",") + queue->host();
    return "nats://" + hosts + "?replicas=3";
  }

  void Run(const std::vector<std::string>& words) {
    EXPECT_EQ(hosts_[kConsole]->Run("commands", words), 0)
        << words[0] << ": " << hosts_[kConsole]->Log("commands");
  }
  // True if the worker of `host`, which was started, has ended by itself.
  bool HasEnded(size_t host) const {
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(hosts_[host]->running().at("worker")), &ended,
             WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid != 0;
  }
  void StartWorker(size_t host) {
    if (hosts_[host]->IsRunning("worker")) {
      if (!HasEnded(host)) return;
      EXPECT_THAT(hosts_[host]->Wait("worker"), ::testing::AnyOf(0, 1, 3)) << host << Logs();
    }
    const Status started = network_->On(host, [&] {
      hosts_[host]->Start(
          "worker", {"worker", "--device", "fake", "--jobs", "1", "--per-problem", "5s", "--name",
                     fmt::format("w{}", ++names_), "--patience", "4m", "--until-done"});
      return Status::Ok();
    });
    ASSERT_EQ(started, Status::Ok());
  }
  void StartWorkers() {
    for (size_t host = kFirstWorker; host < kHosts; ++host) StartWorker(host);
  }
  size_t AnyWorker() { return kFirstWorker + random_.Below(kWorkers); }

  static std::string TextOfProblem(int i) {
    return fmt::format("gemm@1{{m={},n={},k=8}}", 8 + i % 32, 8 + i / 32);
  }
  // Jobs of so many problems; each solver has one of each.
  void Load(const std::string& session, const std::string& tag, int first, int count) {
    const std::filesystem::path file = hosts_[kConsole]->folder() / (tag + ".txt");
    std::ofstream list(file);
    for (int i = first; i < first + count; ++i) {
      list << TextOfProblem(i) << '\n';
    }
    list.close();
    Run({"import", file, "--tag", tag});
    Run({"jobs", "load", "--session", session, "--tag", tag, "--steps", "perf:measure", "--solvers",
         "fake.tiled,fake.library"});
  }

  void Rest(uint64_t most_ms) { std::this_thread::sleep_for(milliseconds(random_.Below(most_ms))); }
  void Note(const std::string& what) {
    fmt::print("  {:7.1f} s  {}\n", static_cast<double>(SteadyNowNs() - begun_ns_) / 1e9, what);
    std::fflush(stdout);
  }

  // Prints the present event, and counts it.
  void Fault(const std::string& kind, const std::string& what) {
    ++faults_[kind];
    Note(what);
  }

  // The possible events. Each leaves everything as it was before.
  void KillWorker(size_t host, const std::string& kind = "worker killed") {
    if (!hosts_[host]->IsRunning("worker")) return StartWorker(host);
    Fault(kind, fmt::format("the worker of host {} is killed", host));
    hosts_[host]->End("worker", SIGKILL);
    Rest(1000);
    StartWorker(host);
  }
  void KillChild(size_t host) {
    if (!hosts_[host]->IsRunning("worker")) return;
    const auto children = ChildrenOf(hosts_[host]->running().at("worker"));
    if (children.empty()) return;
    Fault("child killed", fmt::format("a child on host {} is killed", host));
    ::kill(children[random_.Below(children.size())], SIGKILL);
  }
  void KillPublisher() {
    const auto connection = sql::Connection::Open(DatabaseServerAt(url_, {}).value()->NewEngine());
    if (!connection.ok()) return;
    const auto owners =
        (*connection)->Texts("SELECT owner FROM publisher ORDER BY deadline_unix_ns DESC LIMIT 1");
    if (!owners.ok() || owners->empty()) return;
    // user@host:namespace.boot:process, as columns have it.
    const std::string owner = sql::FromFreeText(owners->front()).value();
    const pid_t publisher = std::atoi(owner.c_str() + owner.rfind(':') + 1);
    for (size_t host = kFirstWorker; host < kHosts; ++host) {
      const auto found = hosts_[host]->running().find("worker");
      if (found == hosts_[host]->running().end() || found->second != publisher) continue;
      return KillWorker(host, "publisher killed");
    }
  }
  nats::ConnectionHandle ConnectToQueues() const {
    natsConnection* connection = nullptr;
    natsOptions* made = nullptr;
    natsOptions_Create(&made);
    const nats::OptionsHandle options(made);
    std::vector<std::string> urls;
    std::vector<const char*> pointers;
    for (const auto& queue : queues_) urls.push_back("nats://" + queue->host());
    for (const std::string& url : urls) pointers.push_back(url.c_str());
    natsOptions_SetServers(made, pointers.data(), static_cast<int>(pointers.size()));
    natsOptions_SetTimeout(made, 1000);
    (void)natsConnection_Connect(&connection, made);
    return nats::ConnectionHandle(connection);
  }
  size_t LeaderOfQueues() const {
    const nats::ConnectionHandle connection = ConnectToQueues();
    if (connection == nullptr) return 0;
    jsCtx* context = nullptr;
    if (natsConnection_JetStream(&context, connection.get(), nullptr) != NATS_OK) return 0;
    const nats::ContextHandle context_owner(context);
    jsStreamInfo* info = nullptr;
    if (js_GetStreamInfo(&info, context, "attune-jobs", nullptr, nullptr) != NATS_OK) return 0;
    const nats::StreamInfoHandle info_owner(info);
    const bool has_leader = info->Cluster != nullptr && info->Cluster->Leader != nullptr;
    return has_leader ? static_cast<size_t>(info->Cluster->Leader[5] - '0') : 0;
  }
  // The servers' report on the stream of jobs and its consumers.
  std::string StateOfQueues() const {
    const nats::ConnectionHandle connection = ConnectToQueues();
    std::string state;
    for (const char* subject :
         {"$JS.API.STREAM.INFO.attune-jobs", "$JS.API.CONSUMER.LIST.attune-jobs"}) {
      natsMsg* reply = nullptr;
      const natsStatus status =
          connection == nullptr
              ? NATS_CONNECTION_CLOSED
              : natsConnection_RequestString(&reply, connection.get(), subject, "", 5000);
      const nats::MessageHandle owner(reply);
      state += fmt::format("{}: {}\n", subject,
                           status == NATS_OK ? natsMsg_GetData(reply) : natsStatus_GetText(status));
    }
    return state;
  }
  void KillQueue(size_t number, const std::string& kind = "queue killed") {
    Fault(kind, fmt::format("server {} of the queue is killed", number));
    queues_[number]->Kill();
    Rest(3000);
    ASSERT_EQ(network_->On(kFirstQueue + number, [&] { return queues_[number]->Run(); }),
              Status::Ok());
  }
  void KillDatabase() {
    Fault("database killed", "the database is killed");
    server_->Kill();
    Rest(2000);
    ASSERT_EQ(network_->On(kDatabase, [&] { return server_->Run(); }), Status::Ok());
  }
  void CutHost(size_t host) {
    Fault("host cut off", fmt::format("host {} is cut off", host));
    ASSERT_EQ(network_->Cut(host), Status::Ok());
    Rest(4000);
    ASSERT_EQ(network_->Join(host), Status::Ok());
  }
  void PartHosts(size_t one, size_t other) {
    Fault("hosts parted", fmt::format("hosts {} and {} do not hear each other", one, other));
    ASSERT_EQ(network_->Part(one, other), Status::Ok());
    Rest(4000);
    ASSERT_EQ(network_->Meet(one, other), Status::Ok());
  }
  // Rounds enough for everything to have happened that can.
  void ExpectEveryKind(int64_t rounds) const {
    constexpr int64_t kEnough = 20;
    if (rounds < kEnough) return;
    for (const char* kind :
         {"worker killed", "child killed", "publisher killed", "queue killed",
          "queue's leader killed", "database killed", "host cut off", "hosts parted"}) {
      EXPECT_TRUE(faults_.contains(kind)) << kind;
    }
  }
  void Happen() {
    const std::vector<std::function<void()>> events = {
        [&] { KillWorker(AnyWorker()); },
        [&] { KillChild(AnyWorker()); },
        [&] { KillPublisher(); },
        [&] { KillQueue(LeaderOfQueues(), "queue's leader killed"); },
        [&] { KillQueue(random_.Below(kQueues)); },
        [&] { KillDatabase(); },
        [&] { CutHost(1 + random_.Below(kHosts - 1)); },
        [&] { PartHosts(AnyWorker(), 1 + random_.Below(kFirstWorker - 1)); },
        [&] { PartHosts(kFirstQueue, kFirstQueue + 1 + random_.Below(kQueues - 1)); },
    };
    events[random_.Below(events.size())]();
  }

  bool IsDone(int64_t session) {
    const std::vector<JobStep> steps = {kMeasureStep};
    const auto has_open = database_->fleet().HasOpenJobs(session, steps);
    return has_open.ok() && !*has_open;
  }
  // Every run ends by itself, after any event.
  void WaitForWorkers(int64_t session) {
    const int64_t end_ns = SteadyNowNs() + kPatienceNs;
    while (SteadyNowNs() < end_ns && !IsDone(session)) {
      for (size_t host = kFirstWorker; host < kHosts; ++host) StartAgain(host);
      std::this_thread::sleep_for(milliseconds(200));
    }
    ASSERT_TRUE(IsDone(session)) << StateOfQueues() << Logs();
    for (size_t host = kFirstWorker; host < kHosts; ++host) {
      if (!hosts_[host]->IsRunning("worker")) continue;
      // 3, because one solver fails.
      EXPECT_THAT(WaitAtMost(host, end_ns), ::testing::AnyOf(0, 3)) << host << Logs();
    }
  }
  // As a service does it: a worker that starts while the database is away reports it and ends.
  void StartAgain(size_t host) {
    if (!hosts_[host]->IsRunning("worker") || !HasEnded(host)) return;
    if (hosts_[host]->Wait("worker") != 1) return;
    const std::string log = hosts_[host]->Log("worker");
    const size_t line = log.rfind('\n', log.size() - 2);
    Note(fmt::format("host {} begins again: {}", host,
                     log.substr(line == std::string::npos ? 0 : line + 1)));
    StartWorker(host);
  }
  int WaitAtMost(size_t host, int64_t end_ns) {
    while (SteadyNowNs() < end_ns) {
      if (HasEnded(host)) return hosts_[host]->Wait("worker");
      std::this_thread::sleep_for(milliseconds(50));
    }
    return hosts_[host]->End("worker", SIGKILL);
  }
  std::string Logs() const {
    std::string logs;
    for (size_t host = kFirstWorker; host < kHosts; ++host) {
      const std::string log = hosts_[host]->Log("worker");
      constexpr size_t kShown = 6000;
      logs += fmt::format("host {}:\n{}", host,
                          log.size() <= kShown ? log : log.substr(log.size() - kShown));
    }
    return logs;
  }

  // Compares the database with its expected content, which is counted outside the fleet.
  void Compare(int64_t session_id, int first, int count) {
    ExpectedJobs expected;
    for (int i = first; i < first + count; ++i) {
      const Problem problem = ParseProblem(TextOfProblem(i)).value();
      for (const char* solver : {"fake.tiled", "fake.library"}) {
        expected.emplace(Text(problem), solver);
      }
    }
    const SessionState session = database_->StateOf(session_id);
    EXPECT_THAT(Contradictions(session, expected), ::testing::IsEmpty());
    for (const Job& job : session.jobs) {
      if (job.state == JobState::kFailed) ++failures_[job.solver + " " + job.error.kind];
      EXPECT_TRUE(job.solver == "fake.tiled" || job.state == JobState::kFailed) << job.id;
    }
  }

  // The second load comes in the middle of the events.
  void RunRound(int64_t round, int problems) {
    random_ = Random((static_cast<uint64_t>(seed_) << 32) + static_cast<uint64_t>(round));
    const std::string name = fmt::format("round{}", round);
    Note(name);
    const int first = static_cast<int>((2 * problems * round) % kMostProblems);
    Run({"session", "new", name, "--device", "fake"});
    const int64_t session = database_->sessions().Find(name)->id;
    Load(name, name + "a", first, problems);
    StartWorkers();
    const auto wanted = kFewestEvents + random_.Below(kMostEvents - kFewestEvents + 1);
    for (uint64_t event = 0; event < wanted; ++event) {
      Rest(1500);
      ASSERT_NO_FATAL_FAILURE(Happen());
      if (event == wanted / 2) Load(name, name + "b", first + problems, problems);
    }
    // Workers that were done before the second load have ended.
    StartWorkers();
    ASSERT_NO_FATAL_FAILURE(WaitForWorkers(session));
    Compare(session, first, 2 * problems);
    Run({"session", "close", name});
  }

  void CheckDatabase() {
    SqlStoreOptions options;
    options.server_at = DatabaseServerAt;
    EXPECT_EQ(CheckSqlStore(url_, options), Status::Ok());
  }

  void TellCounts() {
    for (const auto& [what, count] : faults_) Note(fmt::format("{} times: {}", count, what));
    for (const auto& [what, count] : failures_) Note(fmt::format("{} failed: {}", count, what));
  }

  const int64_t seed_ = NumberFrom("ATTUNE_CHAOS_SEED", 1);
  Random random_{static_cast<uint64_t>(seed_)};
  const int64_t begun_ns_ = SteadyNowNs();
  std::unique_ptr<TestNetwork> network_;
  std::unique_ptr<TestServer> server_;
  std::vector<std::unique_ptr<NatsServer>> queues_;
  std::vector<std::unique_ptr<AttuneProcesses>> hosts_;
  std::unique_ptr<FleetDatabase> database_;
  std::string url_;
  int64_t names_ = 0;
  std::map<std::string, int64_t> faults_;
  std::map<std::string, int64_t> failures_;
};

TEST_F(FleetNetworkChaosTest, NothingIsLostAndEveryRunEndsWhateverIsKilledAndCutOff) {
  const int64_t first = NumberFrom("ATTUNE_CHAOS_FIRST", 0);
  const int64_t end = first + NumberFrom("ATTUNE_CHAOS_ROUNDS", 1);
  const int64_t minutes = NumberFrom("ATTUNE_CHAOS_MINUTES", 0);
  const int problems = static_cast<int>(NumberFrom("ATTUNE_CHAOS_JOBS", 60)) / 4;
  Note(fmt::format("seed {}, rounds {} to {}, {} jobs in each", seed_, first, end - 1,
                   4 * problems));

  int64_t round = first;
  const auto has_time = [&] {
    return minutes == 0 || SteadyNowNs() - begun_ns_ < minutes * kMinuteNs;
  };
  for (; round < end && !HasFailure() && has_time(); ++round) {
    ASSERT_NO_FATAL_FAILURE(RunRound(round, problems));
  }

  CheckDatabase();
  ExpectEveryKind(round - first);
  TellCounts();
  Note(fmt::format("rounds {} to {} were done", first, round - 1));
}

}  // namespace
}  // namespace attune
