#include "attune/session/fleet_store.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/session/job_store.h"
#include "attune/session/session_store.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/servers/database_test.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr JobStep kMeasure = {JobSearch::kPerf, JobWork::kMeasure};

class FleetStoreTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    sessions_ = SessionsIn(database_);
    jobs_ = JobsIn(database_);
    fleet_ = FleetIn(database_);
  }

  // A session with that name, with a job of "k" for each of `count` problems.
  int64_t NewSession(const std::string& name, int count) {
    Session session;
    session.name = name;
    session.terms.backend = "host";
    const int64_t id = sessions_->Create(session)->id;
    JobLoad load;
    load.steps = {kMeasure};
    std::vector<ProblemSolvers> problems;
    for (int i = 0; i < count; ++i) problems.push_back({SampleProblem(i + 1), {"k"}});
    EXPECT_TRUE(count == 0 || jobs_->Load(id, load, problems).ok());
    return id;
  }
  std::vector<Job> Lease(int64_t session_id, std::vector<int64_t> ids, int64_t now = 1) {
    LeaseTerms terms{{kMeasure}, "w", now, 1000, std::move(ids)};
    return jobs_->Lease(session_id, terms).value();
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<FleetStore> fleet_;
};

TEST_P(FleetStoreTest, SessionsThatAreClosedOrHaveNoJobsAreNotOpen) {
  NewSession("none", 0);
  const int64_t open = NewSession("open", 1);
  const int64_t closed = NewSession("closed", 1);
  ASSERT_EQ(sessions_->Close(closed, "me"), Status::Ok());

  EXPECT_THAT(*fleet_->OpenSessions(), ElementsAre(Field(&Session::id, open)));
}

TEST_P(FleetStoreTest, ABacklogIsWhatCanBeLeasedAndHowMuchIs) {
  const int64_t session = NewSession("may", 4);
  const auto all = *jobs_->List(session, {});

  EXPECT_THAT(Lease(session, {all[2].id, all[3].id, 99'999}), SizeIs(2));

  const Backlog backlog = *fleet_->BacklogOf(session, kMeasure, 1);
  EXPECT_EQ(backlog.leased, 2);
  EXPECT_THAT(backlog.jobs, ElementsAre(LeasableJob{all[0].id, 0, 0}));
  EXPECT_THAT(Lease(session, {all[3].id}), IsEmpty());
  EXPECT_THAT(*fleet_->Find(std::vector{all[0].id, all[3].id, int64_t{99'999}}), SizeIs(2));
}

TEST_P(FleetStoreTest, SeveralOfTheFirstAreLeasedAtOnce) {
  const int64_t session = NewSession("may", 4);
  LeaseTerms terms{{kMeasure}, "w", 1, 1000};
  terms.most = 3;

  EXPECT_THAT(*jobs_->Lease(session, terms), SizeIs(3));
}

TEST_P(FleetStoreTest, ExpiredLeasesGoBack) {
  const int64_t session = NewSession("may", 1);
  Lease(session, {}, 1);

  EXPECT_EQ(*fleet_->GiveBackExpired(session, 500), 0);
  EXPECT_THAT(*fleet_->LeaseOwners(session), ElementsAre("w"));
  EXPECT_EQ(*fleet_->GiveBackExpired(session, 5000), 1);
  EXPECT_THAT(*fleet_->LeaseOwners(session), IsEmpty());
  const std::vector<JobStep> steps = {kMeasure};
  EXPECT_TRUE(*fleet_->HasOpenJobs(session, steps));
}

TEST_P(FleetStoreTest, ADeadLetterFailsItsJobOnceAndSaysWhy) {
  const int64_t session = NewSession("may", 1);
  const int64_t id = jobs_->List(session, {})->at(0).id;
  const DeadLetter letter{{id, 0}, 6, "nobody could"};

  EXPECT_TRUE(*fleet_->Bury(letter, 1));

  const Job job = jobs_->List(session, {})->at(0);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.kind, "abandoned");
  EXPECT_EQ(job.error.text, "Its message was given up after 6 deliveries: nobody could");
  EXPECT_EQ(*jobs_->Requeue(session, {}), 1);
  EXPECT_FALSE(*fleet_->Bury(letter, 1)) << "It was queued again since.";
  EXPECT_FALSE(*fleet_->Bury({{0, 0}, 1, "no message"}, 1));
}

TEST_P(FleetStoreTest, OnePublishesUntilItLetsGoOrIsLate) {
  EXPECT_TRUE(*fleet_->HoldPublishing("c", "a", 100, 200));
  EXPECT_FALSE(*fleet_->HoldPublishing("c", "b", 150, 250));
  EXPECT_TRUE(*fleet_->HoldPublishing("d", "b", 150, 250));
  EXPECT_TRUE(*fleet_->HoldPublishing("c", "a", 150, 250));
  EXPECT_TRUE(*fleet_->HoldPublishing("c", "b", 251, 300));
  EXPECT_FALSE(*fleet_->HoldPublishing("c", "a", 260, 300));
  ASSERT_EQ(fleet_->LetGoOfPublishing("b"), Status::Ok());
  EXPECT_TRUE(*fleet_->HoldPublishing("c", "a", 260, 300));
}

TEST_P(FleetStoreTest, AWorkerIsKnownByItsName) {
  WorkerState worker{"w1", "me@here:1", "cpu", "attune 1", 1, 2, 0, "100% of it", 3, 4};
  ASSERT_EQ(fleet_->PutWorker(worker), Status::Ok());
  ASSERT_EQ(fleet_->PutWorker({"v", "o", "t", "a", 1, 1, 1, "", 0, 0}), Status::Ok());
  worker.done_count = 9;
  ASSERT_EQ(fleet_->PutWorker(worker), Status::Ok());

  EXPECT_THAT(*fleet_->Workers(), ElementsAre(Field(&WorkerState::name, "v"), worker));
  EXPECT_EQ(fleet_->PutWorker({}).code(), StatusCode::kInvalidArgument);
}

TEST_P(FleetStoreTest, WhatIsNextIsFoundWithoutReadingAllThatIsQueued) {
  if (GetParam() != DatabaseKind::kPostgres) GTEST_SKIP() << "Others count nothing.";
  constexpr int kQueued = 1500;
  const int64_t session = NewSession("may", kQueued);
  // A connection reports the rows that it has read when it ends.
  const auto rows_read = [&] {
    fleet_.reset();
    jobs_.reset();
    sessions_.reset();
    database_.reset();
    const auto read =
        Connect()->Texts("SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'job'");
    return std::stoll(read->at(0));
  };
  const int64_t before = rows_read();
  fleet_ = FleetIn(Open());

  const Backlog first = fleet_->BacklogOf(session, kMeasure, 2).value();
  const std::vector<JobStep> other = {{JobSearch::kPerf, JobWork::kCompile}};
  const bool has_other = fleet_->HasOpenJobs(session, other).value();

  EXPECT_THAT(first.jobs, SizeIs(2));
  EXPECT_FALSE(has_other);
  EXPECT_LT(rows_read() - before, kQueued / 10);
}

TEST_P(FleetStoreTest, ExpiredLeasesAreFoundWithoutReadingAllThatIsStored) {
  if (GetParam() != DatabaseKind::kMaria) GTEST_SKIP() << "MariaDB chose to.";
  constexpr int kStored = 6000;
  // A quarter. For a smaller share the server chooses the index by itself.
  constexpr size_t kLeased = kStored / 4;
  const int64_t session = NewSession("may", kStored);
  const auto all = jobs_->List(session, {}).value();
  for (size_t i = 0; i < kLeased; i += kMostLeased) {
    std::vector<int64_t> ids;
    for (size_t j = i; j < i + kMostLeased; ++j) ids.push_back(all[j].id);
    ASSERT_THAT(Lease(session, ids), SizeIs(kMostLeased));
  }
  ASSERT_EQ((*SharedServer(ServerKind::kMaria))
                ->Administer("ANALYZE TABLE job", url().substr(url().rfind('/') + 1)),
            Status::Ok());
  const auto rows_read = [&] {
    const auto read = Connect()->Texts(
        "SELECT CAST(SUM(variable_value) AS CHAR) FROM information_schema.global_status WHERE "
        "variable_name LIKE 'HANDLER\\_READ%'");
    return std::stoll(read->at(0));
  };
  const int64_t before = rows_read();

  EXPECT_EQ(fleet_->GiveBackExpired(session, 500).value(), 0);

  EXPECT_LT(rows_read() - before, kStored / 2);
}

INSTANTIATE_TEST_SUITE_P(Over, FleetStoreTest, ::testing::ValuesIn(DatabaseKinds()), NameOfKind);

}  // namespace
}  // namespace attune
