#include "extensions/fleet/workers/worker.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/fleet/queue/local_queue.h"
#include "extensions/fleet/workers/channels.h"
#include "extensions/fleet/workers/database_queue.h"
#include "extensions/fleet/workers/one_job.h"
#include "tests/fleet/fleet_fixture.h"

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Wraps another store; at first it has no room for workers.
class FullFleet final : public FleetStore {
 public:
  // Borrows `fleet`. So many times.
  FullFleet(FleetStore& fleet, int times_full) : fleet_(fleet), times_full_(times_full) {}

  Status PutWorker(const WorkerState& worker) override {
    if (times_full_.fetch_sub(1) > 0) return ResourceExhausted("It has no space left.");
    return fleet_.PutWorker(worker);
  }
  Result<std::vector<Session>> OpenSessions() override { return fleet_.OpenSessions(); }
  Result<Backlog> BacklogOf(int64_t session_id, const JobStep& step, int64_t most) override {
    return fleet_.BacklogOf(session_id, step, most);
  }
  Result<bool> HasOpenJobs(int64_t session_id, std::span<const JobStep> steps) override {
    return fleet_.HasOpenJobs(session_id, steps);
  }
  Result<std::vector<FoundJob>> Find(std::span<const int64_t> ids) override {
    return fleet_.Find(ids);
  }
  Result<std::vector<std::string>> LeaseOwners(int64_t session_id) override {
    return fleet_.LeaseOwners(session_id);
  }
  Result<int64_t> GiveBackExpired(int64_t session_id, int64_t now_unix_ns) override {
    return fleet_.GiveBackExpired(session_id, now_unix_ns);
  }
  Result<bool> Bury(const DeadLetter& letter, int64_t now_unix_ns) override {
    return fleet_.Bury(letter, now_unix_ns);
  }
  Result<bool> HoldPublishing(std::string_view token, const std::string& owner, int64_t now_unix_ns,
                              int64_t deadline_unix_ns) override {
    return fleet_.HoldPublishing(token, owner, now_unix_ns, deadline_unix_ns);
  }
  Status LetGoOfPublishing(const std::string& owner) override {
    return fleet_.LetGoOfPublishing(owner);
  }
  Result<std::vector<WorkerState>> Workers() override { return fleet_.Workers(); }

 private:
  FleetStore& fleet_;
  std::atomic<int> times_full_;
};

// With a queue of its own, or with the database as the queue.
class WorkerTest : public ::testing::TestWithParam<bool> {
 protected:
  WorkerTest() {
    if (GetParam()) {
      queue_ = std::make_unique<LocalQueue>();
    } else {
      queue_ = std::make_unique<DatabaseQueue>(database_.fleet());
    }
  }
  FleetParts Parts() { return {database_.fleet(), database_.jobs(), *queue_, GetParam()}; }

  FleetDatabase database_;
  std::unique_ptr<JobQueue> queue_;
  StubDoer doer_;
};

TEST_P(WorkerTest, TwoWorkersDoEveryJobOnce) {
  const int64_t may = database_.NewSession("may", 300);
  const int64_t june = database_.NewSession("june", 200);
  Worker first(Parts(), doer_, TermsOf("first"));
  Worker second(Parts(), doer_, TermsOf("second"));

  std::thread other([&] { EXPECT_EQ(second.Run(), Status::Ok()); });
  EXPECT_EQ(first.Run(), Status::Ok());
  other.join();

  const auto done = doer_.done();
  EXPECT_THAT(done, SizeIs(500));
  EXPECT_THAT(std::set<int64_t>(done.begin(), done.end()), SizeIs(500));
  EXPECT_EQ(first.summary().done + second.summary().done, 500);
  EXPECT_THAT(database_.JobsOf(may, JobState::kDone), SizeIs(300));
  EXPECT_THAT(database_.JobsOf(june, JobState::kDone), SizeIs(200));
}

TEST_P(WorkerTest, AFailureIsCountedAndNamedWithEveryByteOfItsText) {
  const int64_t session = database_.NewSession("may", 3);
  doer_.failing_solver = "k";
  Worker worker(Parts(), doer_, TermsOf("w"));

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_EQ(worker.summary().failed, 3);
  EXPECT_EQ(worker.summary().failures.at("crashed"), 3);
  EXPECT_THAT(worker.summary().troubles, SizeIs(3));
  EXPECT_EQ(database_.JobsOf(session, JobState::kFailed).at(0).error.text,
            "it's \"gone\"\nfor good");
}

TEST_P(WorkerTest, WhatIsClosedOrForOtherMachinesIsLeft) {
  const int64_t closed = database_.NewSession("closed", 3);
  ASSERT_EQ(database_.sessions().Close(closed, "me"), Status::Ok());
  Session other;
  other.name = "other";
  other.terms.backend = "cuda";
  const int64_t elsewhere = database_.sessions().Create(other)->id;
  database_.Load(elsewhere, 1, 2);
  Worker worker(Parts(), doer_, TermsOf("w"));

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(doer_.done(), IsEmpty());
  EXPECT_THAT(database_.JobsOf(elsewhere, JobState::kQueued), SizeIs(2));
}

TEST_P(WorkerTest, WhoeverIsAskedToStopTakesNothingMoreAndSaysThatItEnded) {
  database_.NewSession("may", 100);
  WorkerTerms terms = TermsOf("w");
  terms.stop_requested = [&] { return !doer_.done().empty(); };
  Worker worker(Parts(), doer_, terms);

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(doer_.done(), SizeIs(1));
  const auto workers = database_.fleet().Workers().value();
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers[0].done_count, 1);
  EXPECT_NE(workers[0].ended_unix_ns, 0);
}

TEST_P(WorkerTest, OneJobIsDoneAlone) {
  const int64_t session = database_.NewSession("may", 3);
  const int64_t id = database_.jobs().List(session, {})->at(1).id;
  WorkerSummary summary;

  EXPECT_EQ(DoOneJob(Parts(), doer_, {id, "w", 1'000'000'000}, summary), Status::Ok());

  EXPECT_THAT(doer_.done(), ElementsAre(id));
  EXPECT_EQ(summary.done, 1);
  const Status again = DoOneJob(Parts(), doer_, {id, "w", 1'000'000'000}, summary);
  EXPECT_EQ(again.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(again.message(), HasSubstr("of session 'may' is done"));
  EXPECT_THAT(again.message(), HasSubstr("--session NAME"));
  EXPECT_EQ(DoOneJob(Parts(), doer_, {99'999, "w", 1}, summary).code(), StatusCode::kNotFound);
}

TEST_P(WorkerTest, JobsOfAnotherDatabaseOnTheSameQueueAreToldOnceAndKeepNobodyFromWork) {
  if (!GetParam()) GTEST_SKIP() << "A database that is the queue has no other's jobs.";
  const int64_t session = database_.NewSession("may", 3);
  const Channel channel =
      ChannelOf(database_.sessions().Find("may")->terms, {JobSearch::kPerf, JobWork::kMeasure});
  ASSERT_EQ(queue_->Publish(channel, std::vector<QueuedJob>{{990'001, 0}, {990'002, 0}}).value(),
            2);
  std::vector<std::string> said;
  WorkerTerms terms = TermsOf("w");
  terms.say = [&](const std::string& line) { said.push_back(line); };
  Worker worker(Parts(), doer_, terms);

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(database_.JobsOf(session, JobState::kDone), SizeIs(3));
  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const std::string& line) {
                            return line.find("another database uses the same queue") !=
                                   std::string::npos;
                          }),
            1);
}

TEST_P(WorkerTest, MessagesOfAnEarlierRunAreDroppedAndEndNothingEarly) {
  const int64_t session = database_.NewSession("may", 30);
  const FleetParts parts = Parts();
  ASSERT_TRUE(Reconcile(parts, {"earlier", 1, nullptr}).ok());
  JobFilter cancelled;
  const auto jobs = database_.jobs().List(session, {}).value();
  for (const Job& job : jobs) {
    if (cancelled.ids.size() < 10) cancelled.ids.push_back(job.id);
  }
  ASSERT_EQ(database_.jobs().Cancel(session, cancelled, {"by hand", ""}).value(), 10);
  if (parts.publishes) {
    // Jobs that never existed.
    const Channel channel =
        ChannelOf(database_.fleet().OpenSessions()->front().terms, kMeasureStep);
    ASSERT_EQ(queue_->Publish(channel, std::vector<QueuedJob>{{99'999, 0}, {99'998, 3}}).value(),
              2);
  }
  Worker worker(parts, doer_, TermsOf("w"));

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(doer_.done(), SizeIs(20));
  EXPECT_EQ(worker.summary().dropped, parts.publishes ? 12 : 0);
  EXPECT_THAT(database_.JobsOf(session, JobState::kDone), SizeIs(20));
}

TEST_P(WorkerTest, WhatIsDoneStaysDoneWhoeverBeginsMeanwhile) {
  const int64_t session = database_.NewSession("may", 5);
  Worker first(Parts(), doer_, TermsOf("first"));
  ASSERT_EQ(first.Run(), Status::Ok());
  const auto before = database_.jobs().List(session, {}).value();

  ASSERT_TRUE(Reconcile(Parts(), {"second", 1, [](const std::string&) { return true; }}).ok());
  Worker second(Parts(), doer_, TermsOf("second"));
  EXPECT_EQ(second.Run(), Status::Ok());

  EXPECT_THAT(doer_.done(), SizeIs(5));
  EXPECT_EQ(database_.jobs().List(session, {}).value(), before);
}

TEST_P(WorkerTest, ADatabaseThatIsFullOrAwayIsWaitedForWithWhatWasDone) {
  const int64_t session = database_.NewSession("may", 1);
  TroubledJobs jobs(database_.jobs());
  jobs.report_failures = {Unavailable("It is away."), ResourceExhausted("It has no space left.")};
  FleetParts parts{database_.fleet(), jobs, *queue_, GetParam()};
  WorkerTerms terms = TermsOf("w");
  std::vector<std::string> said;
  std::mutex mutex;
  terms.say = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    said.push_back(line);
  };
  Worker worker(parts, doer_, terms);

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(doer_.done(), SizeIs(1));
  EXPECT_THAT(database_.JobsOf(session, JobState::kDone), SizeIs(1));
  EXPECT_THAT(said, Contains(HasSubstr("no space left. It is tried again")));
}

TEST_P(WorkerTest, ADatabaseThatIsFullWhenAWorkerBeginsIsWaitedFor) {
  const int64_t session = database_.NewSession("may", 2);
  FullFleet fleet(database_.fleet(), 2);
  Worker worker({fleet, database_.jobs(), *queue_, GetParam()}, doer_, TermsOf("w"));

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(database_.JobsOf(session, JobState::kDone), SizeIs(2));
  EXPECT_THAT(database_.fleet().Workers().value(), SizeIs(1));
}

TEST_P(WorkerTest, ADatabaseThatStaysAwayEndsTheWorkerAfterItsPatience) {
  const int64_t session = database_.NewSession("may", 1);
  TroubledJobs jobs(database_.jobs());
  jobs.report_failures.assign(100, Unavailable("It is away."));
  std::vector<std::string> said;
  WorkerTerms terms = TermsOf("w");
  terms.patience = std::chrono::milliseconds(10);
  terms.say = [&](const std::string& line) { said.push_back(line); };
  Worker worker({database_.fleet(), jobs, *queue_, GetParam()}, doer_, terms);

  EXPECT_EQ(worker.Run(), Unavailable("It is away."));

  // The reason is reported when the outage begins, and is the worker's final status.
  EXPECT_THAT(said, Contains(HasSubstr("it stays leased until its lease is over, within 60 s")));
  EXPECT_THAT(said, Contains(HasSubstr("It is away.")).Times(1));
  EXPECT_THAT(database_.JobsOf(session, JobState::kLeased), SizeIs(1)) << "Until that is over.";
}

TEST_P(WorkerTest, WhatCannotBeKeptOfAJobIsWaitedForAndToldOnce) {
  const int64_t session = database_.NewSession("may", 2);
  doer_.times_away = 3;
  std::vector<std::string> said;
  WorkerTerms terms = TermsOf("w");
  terms.say = [&](const std::string& line) { said.push_back(line); };
  Worker worker(Parts(), doer_, terms);

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(database_.JobsOf(session, JobState::kDone), SizeIs(2));
  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const std::string& line) {
                            return line.find("is given back") != std::string::npos;
                          }),
            1);
}

TEST_P(WorkerTest, ThatADatabaseIsFullIsToldAlsoIfItIsAwayRightAfter) {
  database_.NewSession("may", 1);
  doer_.times_away = 1;
  TroubledJobs jobs(database_.jobs());
  jobs.report_failures.assign(100, Unavailable("It is away."));
  std::vector<std::string> said;
  WorkerTerms terms = TermsOf("w");
  terms.patience = std::chrono::milliseconds(10);
  terms.say = [&](const std::string& line) { said.push_back(line); };
  Worker worker({database_.fleet(), jobs, *queue_, GetParam()}, doer_, terms);

  EXPECT_EQ(worker.Run(), Unavailable("It is away."));

  EXPECT_THAT(said, Contains(HasSubstr("no space left. It is tried again")));
}

TEST_P(WorkerTest, AfterAnOutageWhatFitsIsAskedAgainBeforeAnythingIsTaken) {
  const int64_t session = database_.NewSession("may", 2);
  doer_.times_away = 1;
  doer_.is_another_then = true;
  Worker worker(Parts(), doer_, TermsOf("w"));

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(doer_.done(), IsEmpty());
  EXPECT_THAT(database_.JobsOf(session, JobState::kQueued), SizeIs(2));
}

TEST_P(WorkerTest, AWorkerThatCanKeepNothingEndsAfterItsPatience) {
  const int64_t session = database_.NewSession("may", 2);
  doer_.times_away = 1000;
  WorkerTerms terms = TermsOf("w");
  terms.patience = std::chrono::milliseconds(10);
  Worker worker(Parts(), doer_, terms);

  EXPECT_EQ(worker.Run().code(), StatusCode::kResourceExhausted);

  EXPECT_THAT(database_.JobsOf(session, JobState::kQueued), SizeIs(2));
}

TEST_P(WorkerTest, LeasesGoByTheClockOfTheDatabaseAndADifferenceIsTold) {
  constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
  for (const int64_t ahead_ns : {kHourNs, -kHourNs}) {
    const int64_t session = database_.NewSession(ahead_ns > 0 ? "ahead" : "behind", 2);
    TroubledJobs jobs(database_.jobs());
    jobs.clock_ahead_ns = ahead_ns;
    const int64_t now = jobs.NowUnixNs().value();
    // A lease of another worker, good for a minute.
    const auto held = jobs.Lease(session, {{kMeasureStep}, "else", now, kHourNs / 60}).value();
    ASSERT_THAT(held, SizeIs(1));
    WorkerTerms terms = TermsOf("w");
    std::vector<std::string> said;
    terms.say = [&](const std::string& line) { said.push_back(line); };
    terms.until_done = false;
    terms.stop_requested = [&] { return !database_.JobsOf(session, JobState::kDone).empty(); };
    Worker worker({database_.fleet(), jobs, *queue_, GetParam()}, doer_, terms);

    EXPECT_EQ(worker.Run(), Status::Ok());

    const auto leased = database_.JobsOf(session, JobState::kLeased);
    ASSERT_THAT(leased, SizeIs(1));
    EXPECT_EQ(leased[0].lost, 0);
    EXPECT_THAT(said, Contains(HasSubstr(ahead_ns > 0 ? "s behind that of the database"
                                                      : "s ahead of that of the database")));
  }
}

TEST_P(WorkerTest, WhatCannotBeDoneHereIsGivenBackWithTheReasonAndTheRestIsDone) {
  const int64_t sound = database_.NewSession("sound", 4);
  const int64_t broken = database_.NewSession("broken", 3);
  doer_.refused_session = broken;
  Worker worker(Parts(), doer_, TermsOf("w"));

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_THAT(database_.JobsOf(sound, JobState::kDone), SizeIs(4));
  EXPECT_THAT(database_.JobsOf(broken, JobState::kQueued), SizeIs(3));
  EXPECT_THAT(worker.summary().refusals,
              ElementsAre(HasSubstr("session 'broken': It throws whatever it is given.")));
}

TEST_P(WorkerTest, WhatCannotBeGivenBackIsSaidToStayLeased) {
  const int64_t session = database_.NewSession("may", 1);
  doer_.refused_session = session;
  TroubledJobs jobs(database_.jobs());
  jobs.report_failures.assign(100, FailedPrecondition("The database is gone."));
  std::vector<std::string> said;
  WorkerTerms terms = TermsOf("w");
  terms.say = [&](const std::string& line) { said.push_back(line); };
  Worker worker({database_.fleet(), jobs, *queue_, GetParam()}, doer_, terms);

  EXPECT_EQ(worker.Run().code(), StatusCode::kFailedPrecondition);

  EXPECT_THAT(said, Contains(HasSubstr("was not done: It throws whatever it is given.")));
  EXPECT_THAT(said, Contains(HasSubstr("it stays leased until its lease is over, within 60 s")));
  EXPECT_THAT(said, Not(Contains(HasSubstr("given back:"))));
  EXPECT_THAT(worker.summary().refusals, IsEmpty());
  EXPECT_THAT(database_.JobsOf(session, JobState::kLeased), SizeIs(1));
  WorkerSummary summary;
  jobs.report_failures.assign(100, FailedPrecondition("The database is gone."));
  ASSERT_EQ(database_.jobs().ExpireLeasesOf(session, "w"), Status::Ok());
  const int64_t id = database_.jobs().List(session, {})->front().id;
  const FleetParts parts{database_.fleet(), jobs, *queue_, GetParam()};
  const Status alone = DoOneJob(parts, doer_, {id, "w", 60'000'000'000}, summary);
  EXPECT_THAT(alone.message(), HasSubstr("It throws whatever it is given. The job could not be "
                                         "given back either, and stays leased for up to 60 s"));
}

TEST_P(WorkerTest, AWorkerForWhichNothingIsSaysSoOnce) {
  Session other;
  other.name = "other";
  other.terms.backend = "cuda";
  other.terms.arch = "sm_90";
  database_.Load(database_.sessions().Create(other)->id, 1, 1);
  WorkerTerms terms = TermsOf("w");
  terms.until_done = false;
  terms.idle = std::chrono::milliseconds(1200);
  std::vector<std::string> said;
  terms.say = [&](const std::string& line) { said.push_back(line); };
  Worker worker(Parts(), doer_, terms);

  EXPECT_EQ(worker.Run(), Status::Ok());

  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const std::string& line) {
                            return line.find("'other' is for cuda sm_90") != std::string::npos;
                          }),
            1);
}

INSTANTIATE_TEST_SUITE_P(Over, WorkerTest, ::testing::Bool(), [](const auto& has_queue) {
  return std::string(has_queue.param ? "AQueue" : "TheDatabase");
});

}  // namespace
}  // namespace attune
