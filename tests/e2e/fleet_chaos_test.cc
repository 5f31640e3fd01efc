// Whole workers on PostgreSQL and NATS, of which everything is killed in turn. ATTUNE_CHAOS_ROUNDS
// says how often (1 if it is not set), ATTUNE_CHAOS_SEED with which moments.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/base/steady_time.h"
#include "storage/sql/servers/database_servers.h"
#include "tests/fleet/attune_processes.h"
#include "tests/fleet/fleet_fixture.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kPatienceNs = 240'000'000'000;

int64_t NumberFrom(const char* variable, int64_t usual) {
  const char* text = std::getenv(variable);
  return text == nullptr ? usual : std::atoll(text);
}

class FleetChaosTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto nats = NatsServer::Start();
    if (!nats.ok()) GTEST_SKIP() << nats.status().message();
    auto database = TestServer::Start(ServerKind::kPostgres);
    if (!database.ok()) GTEST_SKIP() << database.status().message();
    nats_ = std::move(*nats);
    server_ = std::move(*database);
    url_ = server_->NewDatabase().value();
    ::setenv("ATTUNE_DB_PASSWORD", TestServer::kPassword, 1);
    processes_.Set("ATTUNE_DB", url_);
    processes_.Set("ATTUNE_QUEUE", "nats://" + nats_->host());
    processes_.Set("ATTUNE_PLUGINS", "fake");
  }

  void Run(const std::vector<std::string>& words) {
    ASSERT_EQ(processes_.Run("commands", words), 0) << words[0] << processes_.Log("commands");
  }
  void StartWorker(const std::string& name, const std::string& per_problem = "2s") {
    processes_.Start(name, {"worker", "--device", "cpu", "--jobs", "1", "--per-problem",
                            per_problem, "--name", name, "--patience", "2m"});
  }
  void KillWorker(const std::string& name) {
    EXPECT_EQ(processes_.End(name, SIGKILL), 128 + SIGKILL);
  }

  static std::string TextOfProblem(int i) {
    return fmt::format("gemm@1{{m={0},n={0},k=8}}", 8 + i);
  }
  // Jobs of so many small problems, each of one solver.
  void Load(const std::string& tag, int first, int count) {
    std::ofstream list(processes_.folder() / (tag + ".txt"));
    for (int i = first; i < first + count; ++i) list << TextOfProblem(i) << '\n';
    list.close();
    Run({"import", processes_.folder() / (tag + ".txt"), "--tag", tag});
    Run({"jobs", "load", "--session", "may", "--tag", tag, "--steps", "perf:measure", "--solvers",
         "host.eigen-gemm"});
  }
  void WaitUntilNothingIsLeft(FleetDatabase& database, int64_t session) {
    const int64_t end_ns = SteadyNowNs() + kPatienceNs;
    const std::vector<JobStep> steps = {kMeasureStep};
    while (SteadyNowNs() < end_ns) {
      const auto has_open = database.fleet().HasOpenJobs(session, steps);
      if (has_open.ok() && !*has_open) return;
      std::this_thread::sleep_for(milliseconds(200));
    }
    FAIL() << "Jobs are left after " << kPatienceNs / 1'000'000'000 << " s.\n" << processes_.Logs();
  }
  std::shared_ptr<SqlDatabase> Open() const {
    SqlStoreOptions options;
    options.server_at = DatabaseServerAt;
    return OpenSqlDatabase(url_, options).value();
  }

  AttuneProcesses processes_{ATTUNE_PROGRAM};
  std::unique_ptr<NatsServer> nats_;
  std::unique_ptr<TestServer> server_;
  std::string url_;
};

TEST_F(FleetChaosTest, NothingIsLostAndNothingDoneTwiceWhateverIsKilled) {
  const auto seed = static_cast<uint64_t>(NumberFrom("ATTUNE_CHAOS_SEED", 1));
  const int64_t rounds = NumberFrom("ATTUNE_CHAOS_ROUNDS", 1);
  fmt::print("seed {}\n", seed);
  Random random(seed);
  Run({"session", "new", "may", "--device", "cpu"});
  FleetDatabase database(Open());
  const int64_t session = database.sessions().Find("may")->id;
  const auto rest = [&](uint64_t most_ms) {
    std::this_thread::sleep_for(milliseconds(random.Below(most_ms)));
  };

  for (int64_t round = 0; round < rounds; ++round) {
    const int first = static_cast<int>(12 * round);
    Load(fmt::format("before{}", round), first, 6);
    const std::string one = fmt::format("one{}", round);
    const std::string two = fmt::format("two{}", round);
    StartWorker(one);
    StartWorker(two);
    rest(2000);
    Load(fmt::format("after{}", round), first + 6, 6);
    rest(2000);
    KillWorker(one);
    rest(500);
    nats_->Kill();
    rest(1000);
    ASSERT_EQ(nats_->Run(), Status::Ok());
    rest(1000);
    server_->Kill();
    rest(1000);
    ASSERT_EQ(server_->Run(), Status::Ok());
    StartWorker(fmt::format("three{}", round));
    WaitUntilNothingIsLeft(database, session);
    for (const std::string& name : {two, fmt::format("three{}", round)}) {
      EXPECT_THAT(processes_.End(name, SIGTERM), ::testing::AnyOf(0, 3)) << processes_.Log(name);
    }
  }

  ExpectedJobs expected;
  for (int i = 0; i < 12 * rounds; ++i) {
    expected.emplace(Text(ParseProblem(TextOfProblem(i)).value()), "host.eigen-gemm");
  }
  const SessionState state = database.StateOf(session);
  EXPECT_THAT(Contradictions(state, expected), ::testing::IsEmpty());
  for (const Job& job : state.jobs) {
    // On a busy machine the time of a problem may be over before it is tried, which is reported.
    const bool is_done = job.state == JobState::kDone || job.error.kind == "budget";
    EXPECT_TRUE(is_done) << job.id << " " << job.error.kind << ": " << job.error.text;
  }
  const auto workers = database.fleet().Workers().value();
  EXPECT_EQ(std::ssize(workers), 3 * rounds);
}

TEST_F(FleetChaosTest, WhoeverIsAskedTwiceGivesBackAtOnceWhatItDoes) {
  Run({"session", "new", "may", "--device", "cpu"});
  FleetDatabase database(Open());
  const int64_t session = database.sessions().Find("may")->id;
  // So large that it is measured for seconds.
  Load("large", 6000, 1);
  StartWorker("w", "60s");
  const pid_t worker = processes_.running().at("w");
  const int64_t end_ns = SteadyNowNs() + kPatienceNs;
  while (database.JobsOf(session, JobState::kLeased).empty() && SteadyNowNs() < end_ns) {
    std::this_thread::sleep_for(milliseconds(100));
  }

  ::kill(worker, SIGTERM);
  std::this_thread::sleep_for(milliseconds(500));
  const int64_t asked_ns = SteadyNowNs();

  EXPECT_EQ(processes_.End("w", SIGTERM), 3) << processes_.Log("w");
  EXPECT_LT(SteadyNowNs() - asked_ns, 20'000'000'000);
  EXPECT_EQ(database.JobsOf(session, JobState::kQueued).size(), 1);
  EXPECT_NE(database.fleet().Workers()->at(0).ended_unix_ns, 0);
}

}  // namespace
}  // namespace attune
