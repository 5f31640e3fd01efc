// Whole workers on real servers, of which one thing is wrong at a time.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "attune/base/unique_fd.h"
#include "attune/base/user_at_host.h"
#include "extensions/fleet/nats/handles.h"
#include "extensions/fleet/workers/channels.h"
#include "storage/sql/servers/database_servers.h"
#include "tests/fleet/attune_processes.h"
#include "tests/fleet/fleet_fixture.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/small_disk.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kPatienceNs = 120'000'000'000;
constexpr int64_t kMinuteNs = 60'000'000'000;

#define OR_SKIP \
  if (IsSkipped() || HasFatalFailure()) return

class FleetFaultsTest : public ::testing::TestWithParam<ServerKind> {
 protected:
  // A database on the server that all tests share, and a session on the fake device. Skips where
  // there is no such server.
  void Begin() {
    const auto server = SharedServer(GetParam());
    BeginOn(server.status(), server.ok() ? *server : nullptr);
  }
  // The same on a server of its own, which may be harmed; in `data_folder` if that is named.
  void BeginAlone(const std::string& data_folder = "") {
    auto server = TestServer::Start(GetParam(), {.data_folder = data_folder});
    if (server.ok()) server_ = std::move(*server);
    BeginOn(server.status(), server_.get());
  }
  void BeginOn(const Status& started, TestServer* server) {
    if (started.code() == StatusCode::kNotFound) GTEST_SKIP() << started.message();
    ASSERT_EQ(started, Status::Ok());
    url_ = server->NewDatabase().value();
    ::setenv("ATTUNE_DB_PASSWORD", TestServer::kPassword, 1);
    processes_.Set("ATTUNE_DB", url_);
    processes_.Set("ATTUNE_PLUGINS", "fake");
    Run({"session", "new", "may", "--device", "fake"});
    SqlStoreOptions options;
    options.server_at = DatabaseServerAt;
    database_ = std::make_unique<FleetDatabase>(OpenSqlDatabase(url_, options).value());
    session_ = database_->sessions().Find("may")->id;
  }
  // Begin() with so many jobs, and a queue.
  void BeginWithQueue(int jobs) {
    Begin();
    OR_SKIP;
    BeginQueue();
    OR_SKIP;
    Load(jobs);
  }
  void BeginQueue() {
    auto nats = NatsServer::Start();
    if (!nats.ok()) GTEST_SKIP() << nats.status().message();
    nats_ = std::move(*nats);
    processes_.Set("ATTUNE_QUEUE", "nats://" + nats_->host());
  }

  void Run(const std::vector<std::string>& words, int status = 0) {
    EXPECT_EQ(processes_.Run("commands", words), status)
        << words[0] << ": " << processes_.Log("commands");
  }
  // Jobs of so many small problems from `first` on, each of one solver.
  void Load(int count, int first = 0) {
    std::ofstream list(processes_.folder() / "list.txt");
    for (int i = first; i < first + count; ++i) {
      list << fmt::format("gemm@1{{m={0},n={0},k=8}}\n", 8 + i);
    }
    list.close();
    const std::string tag = fmt::format("from{}", first);
    Run({"import", processes_.folder() / "list.txt", "--tag", tag});
    Run({"jobs", "load", "--session", "may", "--tag", tag, "--steps", "perf:measure", "--solvers",
         "fake.tiled"});
  }
  std::vector<std::string> WorkerWords(std::vector<std::string> more) const {
    std::vector<std::string> words = {"worker", "--device", "fake", "--per-problem", "5s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<Job> Jobs() { return database_->jobs().List(session_, {}).value(); }
  size_t CountOf(JobState state) { return database_->JobsOf(session_, state).size(); }
  // Waits for `condition`, long enough for anything that ever becomes true.
  bool Becomes(const std::function<bool()>& condition) const {
    const int64_t end_ns = SteadyNowNs() + kPatienceNs;
    while (SteadyNowNs() < end_ns) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(50));
    }
    ADD_FAILURE() << processes_.Logs();
    return false;
  }
  bool Says(const std::string& name, const std::string& text) {
    return Becomes([&] { return processes_.Log(name).find(text) != std::string::npos; });
  }
  int CountInLog(const std::string& name, const std::string& text) const {
    const std::string log = processes_.Log(name);
    int count = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
    return count;
  }

  AttuneProcesses processes_{ATTUNE_PROGRAM};
  std::unique_ptr<TestServer> server_;  // Owned; null for the shared one.
  std::unique_ptr<NatsServer> nats_;
  std::string url_;
  std::unique_ptr<FleetDatabase> database_;
  int64_t session_ = 0;
};

TEST_P(FleetFaultsTest, AClockThatIsAnHourOffTakesNothingFromAnyoneAndIsTold) {
  Begin();
  OR_SKIP;
  Load(3);
  const int64_t mine = Jobs().front().id;
  const int64_t now = database_->jobs().NowUnixNs().value();
  ASSERT_THAT(database_->jobs()
                  .Lease(session_, {{kMeasureStep}, "me@here:x:1", now, kMinuteNs, {mine}})
                  .value(),
              SizeIs(1));
  processes_.Set("LD_PRELOAD", ATTUNE_SHIFTED_CLOCK);
  for (const char* shift : {"3600", "-3600"}) {
    processes_.Set("ATTUNE_TEST_CLOCK_SHIFT_S", shift);
    const std::string name = std::string("off") + shift;
    EXPECT_EQ(processes_.Run(name, WorkerWords({"--idle", "500ms", "--name", name})), 0)
        << processes_.Log(name);
    EXPECT_THAT(processes_.Log(name),
                ::testing::ContainsRegex("clock of this machine is 3(600|599)"));
    EXPECT_THAT(processes_.Log(name), HasSubstr("NTP"));
  }

  const Job held = Jobs().front();
  EXPECT_EQ(held.state, JobState::kLeased);
  EXPECT_EQ(held.attempts, 1);
  EXPECT_EQ(held.lost, 0);
  EXPECT_EQ(CountOf(JobState::kDone), 2);
  const auto workers = database_->fleet().Workers().value();
  for (const WorkerState& worker : workers) {
    EXPECT_LT(std::abs(worker.ended_unix_ns - now), kPatienceNs) << "By the clock of the database.";
  }
}

TEST_P(FleetFaultsTest, AMachineOfTheSameNameIsAnotherOne) {
  Begin();
  OR_SKIP;
  Load(2);
  const std::string same_name =
      UserAtHost() + ":" + std::filesystem::read_symlink("/proc/self/ns/pid").string();
  const int64_t mine = Jobs().front().id;
  const int64_t now = database_->jobs().NowUnixNs().value();
  // The number of its process is unused here.
  ASSERT_THAT(database_->jobs()
                  .Lease(session_, {{kMeasureStep}, same_name + ":4194400", now, kMinuteNs, {mine}})
                  .value(),
              SizeIs(1));

  EXPECT_EQ(processes_.Run("w", WorkerWords({"--idle", "500ms"})), 0) << processes_.Log("w");

  EXPECT_EQ(Jobs().front().state, JobState::kLeased);
  EXPECT_EQ(CountOf(JobState::kDone), 1);
}

TEST_P(FleetFaultsTest, AWorkerForOtherTargetsSaysSoAndLeavesTheJobs) {
  Begin();
  OR_SKIP;
  Load(2);

  EXPECT_EQ(processes_.Run("w", {"worker", "--device", "cpu", "--idle", "500ms"}), 0);

  EXPECT_THAT(processes_.Log("w"), HasSubstr("Nothing of the open session is for this worker"));
  EXPECT_THAT(processes_.Log("w"), HasSubstr("'may' is for fake"));
  EXPECT_EQ(CountOf(JobState::kQueued), 2);
}

TEST_P(FleetFaultsTest, AWorkerWithAnotherLibrarySaysWhatDiffersAndLeavesTheJobs) {
  Begin();
  OR_SKIP;
  Load(2);
  processes_.Set("ATTUNE_FAKE_SCRIPT", "device library_version=9.9");

  EXPECT_EQ(processes_.Run("w", WorkerWords({"--idle", "500ms"})), 0);

  EXPECT_THAT(processes_.Log("w"), HasSubstr("library.fakelib is 1.0 in the session and 9.9 here"));
  EXPECT_EQ(CountOf(JobState::kQueued), 2);
}

TEST_P(FleetFaultsTest, WhatHangsIsKilledAtItsDeadlineAndTheRunGoesOnAndEnds) {
  Begin();
  OR_SKIP;
  Load(2);
  processes_.Set("ATTUNE_FAKE_SCRIPT", "fake.tiled fault=hang");

  EXPECT_EQ(processes_.Run("w", {"worker", "--device", "fake", "--per-problem", "1s",
                                 "--until-done", "--run-deadline", "300ms"}),
            3)
      << processes_.Log("w");

  const auto failed = database_->JobsOf(session_, JobState::kFailed);
  ASSERT_THAT(failed, SizeIs(2)) << processes_.Log("w");
  for (const Job& job : failed) EXPECT_EQ(job.error.kind, "timed_out") << job.error.text;
  EXPECT_THAT(processes_.Log("w"), HasSubstr("2 failed: timed_out"));
}

TEST_P(FleetFaultsTest, WhoeverHasAWrongPasswordIsToldAtOnceWhereTheRightOneBelongs) {
  Begin();
  OR_SKIP;
  processes_.Set("ATTUNE_DB_PASSWORD", "wrong");
  const int64_t begun_ns = SteadyNowNs();

  EXPECT_EQ(processes_.Run("w", WorkerWords({})), 1);

  EXPECT_LT(SteadyNowNs() - begun_ns, kMinuteNs / 2);
  EXPECT_THAT(processes_.Log("w"), HasSubstr("ATTUNE_DB_PASSWORD_FILE"));
}

TEST_P(FleetFaultsTest, AFullDatabaseIsToldAndWaitedForAndLosesNothing) {
  constexpr int64_t kDiskBytes = int64_t{400} << 20;
  auto disk = SmallDisk::Mount(kDiskBytes);
  if (!disk.ok()) GTEST_SKIP() << disk.status().message();
  BeginAlone((*disk)->folder() / "data");
  OR_SKIP;
  Load(1);
  const size_t loaded = 25;
  Load(loaded, 1);
  processes_.Start("w", WorkerWords({"--until-done"}));
  ASSERT_TRUE(Becomes([&] { return CountOf(JobState::kDone) >= 3; }));

  ASSERT_EQ((*disk)->Fill(), Status::Ok());
  // InnoDB sometimes fails an assertion of its own while it rolls back without room. Then the
  // worker is never told that there was none, and can only say that the server is away.
  bool was_told = false;
  Becomes([&] {
    const std::string log = processes_.Log("w");
    was_told = log.find("no space left") != std::string::npos ||
               (GetParam() == ServerKind::kMaria && server_->IsGone() &&
                log.find("cannot be reached") != std::string::npos);
    return was_told;
  });
  const std::string log_of_server = server_->Log();
  (*disk)->Empty();
  if (GetParam() == ServerKind::kMaria) {
    // InnoDB waits for room, and takes its server down after a minute where it did not before.
    server_->Kill();
    ASSERT_EQ(server_->Run(), Status::Ok());
  }

  EXPECT_TRUE(was_told) << log_of_server;
  EXPECT_EQ(processes_.Wait("w"), 0) << processes_.Log("w");
  EXPECT_EQ(CountOf(JobState::kDone), loaded + 1) << processes_.Log("w");
  server_.reset();
}

TEST_P(FleetFaultsTest, MessagesOfALaterVersionAreToldAndKeepNobodyFromWork) {
  BeginWithQueue(3);
  OR_SKIP;
  const Session session = database_->sessions().Find("may").value();
  natsConnection* connection = nullptr;
  ASSERT_EQ(natsConnection_ConnectTo(&connection, ("nats://" + nats_->host()).c_str()), NATS_OK);
  const nats::ConnectionHandle owner(connection);
  const std::string subject = "attune.jobs." + Token(ChannelOf(session.terms, kMeasureStep));
  const std::string later = "9 4711 0 of a later attune";
  natsMsg* reply = nullptr;
  ASSERT_EQ(natsConnection_Request(&reply, connection, subject.c_str(), later.data(),
                                   static_cast<int>(later.size()), 5000),
            NATS_OK);
  natsMsg_Destroy(reply);

  EXPECT_EQ(processes_.Run("w", WorkerWords({"--until-done"})), 0) << processes_.Log("w");
  EXPECT_EQ(CountOf(JobState::kDone), 3);
  Load(1, 3);
  Run({"reconcile"});
  EXPECT_THAT(processes_.Log("commands"), HasSubstr("update attune"));
  // Workers report it, too.
  EXPECT_EQ(processes_.Run("later", WorkerWords({"--until-done"})), 0);
  EXPECT_THAT(processes_.Log("later"), HasSubstr("update attune"));
}

TEST_P(FleetFaultsTest, AJobThatTakesItsWorkersAlongFailsAtTheThirdAndKeepsNobodyFromWork) {
  BeginWithQueue(1);
  OR_SKIP;
  processes_.Set("ATTUNE_FAKE_SCRIPT", "fake.tiled fault=hang");
  for (int times = 1; times <= 3; ++times) {
    const std::string name = fmt::format("killed{}", times);
    processes_.Start(name, WorkerWords({}));
    // The lease of the one before stays until another process checks it.
    ASSERT_TRUE(Becomes([&] { return Jobs().front().attempts == times; }));
    EXPECT_EQ(processes_.End(name, SIGKILL), 128 + SIGKILL);
  }
  processes_.Unset("ATTUNE_FAKE_SCRIPT");
  Load(2, 1);

  EXPECT_EQ(processes_.Run("w", WorkerWords({"--until-done"})), 0) << processes_.Log("w");

  EXPECT_EQ(CountOf(JobState::kDone), 2);
  const auto failed = database_->JobsOf(session_, JobState::kFailed);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].error.kind, "abandoned");
  EXPECT_THAT(failed[0].error.text, HasSubstr("3 of 3 leases"));
  Run({"status", "--session", "may"}, 3);
}

TEST_P(FleetFaultsTest, AServerThatComesBackIsWaitedForAndNothingIsLost) {
  BeginAlone();
  OR_SKIP;
  Load(20);
  processes_.Start("w", WorkerWords({"--until-done"}));
  ASSERT_TRUE(Becomes([&] { return CountOf(JobState::kDone) >= 2; }));
  server_->Kill();
  const bool was_told = Says("w", "It is tried again for 600 s.");
  ASSERT_EQ(server_->Run(), Status::Ok());

  EXPECT_EQ(processes_.Wait("w"), 0) << processes_.Log("w");
  EXPECT_EQ(CountOf(JobState::kDone), 20);
  EXPECT_TRUE(was_told);
  EXPECT_EQ(CountInLog("w", "It is tried again for"), 1) << processes_.Log("w");
  EXPECT_EQ(CountInLog("w", "The database is there again, after"), 1) << processes_.Log("w");
}

TEST_P(FleetFaultsTest, AServerThatStaysAwayIsToldAndEndsTheWorkerAfterAPatienceOfAnyLength) {
  BeginAlone();
  OR_SKIP;
  Load(1);
  processes_.Start("w", WorkerWords({"--patience", "4s"}));
  ASSERT_TRUE(Becomes([&] { return CountOf(JobState::kDone) == 1; }));
  const int64_t away_ns = SteadyNowNs();
  server_->Kill();

  EXPECT_EQ(processes_.Wait("w"), 1) << processes_.Log("w");

  // Far less than half a minute, for which other commands wait.
  EXPECT_LT(SteadyNowNs() - away_ns, kMinuteNs / 3);
  EXPECT_GE(SteadyNowNs() - away_ns, kMinuteNs / 15);
  EXPECT_EQ(CountInLog("w", "It is tried again for 4 s."), 1) << processes_.Log("w");
}

TEST_P(FleetFaultsTest, AQueueThatComesBackIsToldAndWaitedForAndNothingIsLost) {
  BeginWithQueue(20);
  OR_SKIP;
  processes_.Start("w", WorkerWords({"--until-done"}));
  ASSERT_TRUE(Becomes([&] { return CountOf(JobState::kDone) >= 2; }));

  nats_->Kill();
  const bool was_told = Says("w", "It is tried again for 600 s.");
  ASSERT_EQ(nats_->Run(), Status::Ok());

  EXPECT_EQ(processes_.Wait("w"), 0) << processes_.Log("w");
  EXPECT_EQ(CountOf(JobState::kDone), 20);
  EXPECT_TRUE(was_told);
  EXPECT_EQ(CountInLog("w", "It is tried again for"), 1) << processes_.Log("w");
  EXPECT_EQ(CountInLog("w", "The queue is there again, after"), 1) << processes_.Log("w");
}

TEST_P(FleetFaultsTest, AMachineThatAnotherProcessHasIsToldAndWaitedFor) {
  Begin();
  OR_SKIP;
  Load(2);
  const std::string turns = processes_.folder() / "attune-measuring-fake.lock";
  std::optional<UniqueFd> other(::open(turns.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::flock(other->get(), LOCK_EX), 0);
  processes_.Start("w", WorkerWords({"--until-done"}));

  const bool was_told = Says("w", "Another process measures on this machine; waiting for it.");
  other.reset();

  EXPECT_TRUE(was_told);
  EXPECT_EQ(processes_.Wait("w"), 0) << processes_.Log("w");
  EXPECT_EQ(CountInLog("w", "has let go of the machine; going on after"), 1) << processes_.Log("w");
  EXPECT_EQ(CountOf(JobState::kDone), 2);
}

TEST_P(FleetFaultsTest, ADatabaseThatBecomesReadOnlyIsToldAndWaitedForAndNothingIsLost) {
  BeginAlone();
  OR_SKIP;
  Load(12);
  processes_.Start("w", WorkerWords({"--until-done"}));
  ASSERT_TRUE(Becomes([&] { return CountOf(JobState::kDone) >= 2; }));

  ASSERT_EQ(server_->SetReadOnly(true), Status::Ok());
  const bool was_told = Says("w", "is read-only now");
  ASSERT_EQ(server_->SetReadOnly(false), Status::Ok());

  EXPECT_TRUE(was_told);
  EXPECT_EQ(processes_.Wait("w"), 0) << processes_.Log("w");
  EXPECT_EQ(CountOf(JobState::kDone), 12) << processes_.Log("w");
  EXPECT_EQ(CountInLog("w", "It is tried again for"), 1) << processes_.Log("w");
  EXPECT_EQ(CountInLog("w", "The database is there again, after"), 1) << processes_.Log("w");
}

TEST_P(FleetFaultsTest, ALoaderThatIsKilledHasLoadedAllOrNothing) {
  Begin();
  OR_SKIP;
  BeginQueue();
  constexpr int kMany = 400;
  std::ofstream list(processes_.folder() / "many.txt");
  for (int i = 0; i < kMany; ++i) list << fmt::format("gemm@1{{m={0},n={0},k=8}}\n", 8 + i);
  list.close();
  Run({"import", processes_.folder() / "many.txt", "--tag", "many"});
  const std::vector<std::string> words = {"jobs",      "load",      "--session", "may",
                                          "--tag",     "many",      "--steps",   "perf:measure",
                                          "--solvers", "fake.tiled"};
  for (const int after_ms : {30, 100, 200, 300, 400, 600}) {
    processes_.Start("loader", words);
    std::this_thread::sleep_for(milliseconds(after_ms));
    processes_.End("loader", SIGKILL);
    EXPECT_THAT(Jobs().size(), ::testing::AnyOf(0u, size_t{kMany})) << after_ms;
  }
  Run(words);

  std::set<Fingerprint> problems;
  for (const Job& job : Jobs()) problems.insert(KeyOf(job.problem));
  EXPECT_THAT(Jobs(), SizeIs(kMany));
  EXPECT_THAT(problems, SizeIs(kMany));
}

TEST_P(FleetFaultsTest, WithoutAnyWorkerLoadingEndsAndStatusSaysThatNobodyWorks) {
  BeginWithQueue(2);
  OR_SKIP;

  Run({"status", "--session", "may"}, 3);

  EXPECT_THAT(processes_.Log("commands"), HasSubstr("2 left, and nobody works on them"));
  EXPECT_THAT(processes_.Log("commands"), HasSubstr("On the queue: 2 waiting"));
}

TEST_P(FleetFaultsTest, StatusSaysWhatTheDatabaseKnowsWhereTheQueueIsAway) {
  BeginWithQueue(2);
  OR_SKIP;
  nats_->Kill();

  Run({"status", "--session", "may"}, 3);

  EXPECT_THAT(processes_.Log("commands"), HasSubstr("2 left"));
  EXPECT_THAT(processes_.Log("commands"), HasSubstr("Of the queue nothing is known: Connecting"));
}

TEST_P(FleetFaultsTest, ALogWithoutRoomGoesToStandardError) {
  Begin();
  OR_SKIP;

  EXPECT_EQ(processes_.Run("w", WorkerWords({"--idle", "300ms", "--log", "/dev/full"})), 0);

  EXPECT_THAT(processes_.Log("w"), HasSubstr("begins: fake"));
}

INSTANTIATE_TEST_SUITE_P(On, FleetFaultsTest,
                         ::testing::Values(ServerKind::kPostgres, ServerKind::kMaria),
                         [](const auto& kind) {
                           return std::string(kind.param == ServerKind::kPostgres ? "PostgreSQL"
                                                                                  : "MariaDB");
                         });

}  // namespace
}  // namespace attune
