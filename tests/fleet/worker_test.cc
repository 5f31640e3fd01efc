#include "attune/fleet/worker.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/fleet/database_queue.h"
#include "attune/fleet/one_job.h"
#include "attune/queue/local_queue.h"
#include "tests/fleet/fleet_fixture.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  EXPECT_THAT(again.message(), HasSubstr("is done"));
  EXPECT_EQ(DoOneJob(Parts(), doer_, {99'999, "w", 1}, summary).code(), StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Over, WorkerTest, ::testing::Bool(), [](const auto& has_queue) {
  return std::string(has_queue.param ? "AQueue" : "TheDatabase");
});

}  // namespace
}  // namespace attune
