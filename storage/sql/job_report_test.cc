// The rows that are written with job states, and those that are not.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/session/job_store.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr JobStep kMeasure = {JobSearch::kPerf, JobWork::kMeasure};
constexpr int64_t kLeaseNs = 1000;

class JobReportTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    jobs_ = JobsIn(database_);
    records_ = RecordsIn(database_);
    Session session;
    session.name = "may";
    session.terms.backend = "host";
    session_id_ = SessionsIn(database_)->Create(session)->id;
  }

  // Leases `count` jobs of distinct problems to "w" from `now` on.
  std::vector<Job> LeaseNew(int count, int64_t now = 1) {
    JobLoad load;
    load.steps = {kMeasure};
    std::vector<ProblemSolvers> problems;
    for (int i = 0; i < count; ++i) problems.push_back({SampleProblem(i + 1), {"k"}});
    EXPECT_TRUE(jobs_->Load(session_id_, load, problems).ok());
    return Lease(now, count);
  }
  std::vector<Job> Lease(int64_t now, int64_t most = 1) {
    LeaseTerms terms{{kMeasure}, "w", now, kLeaseNs};
    terms.most = most;
    return *jobs_->Lease(session_id_, terms);
  }
  // A set that has begun.
  std::string NewSet() {
    const MeasurementSet set = SampleSet(1, ++started_, random_);
    EXPECT_EQ(records_->BeginSet(set), Status::Ok());
    return set.id;
  }
  bool IsFinished(const std::string& set_id) {
    bool is_finished = false;
    EXPECT_EQ(records_->Visit({},
                              [&](const RecordedSet& recorded) {
                                if (recorded.set.id == set_id) is_finished = recorded.finished;
                                return Status::Ok();
                              }),
              Status::Ok());
    return is_finished;
  }
  std::vector<Job> In(JobState state) {
    JobFilter filter;
    filter.states = {state};
    return *jobs_->List(session_id_, filter);
  }
  static JobReport DoneWith(const Job& job, const std::string& set_id) {
    return {{job.id, job.attempts}, JobState::kDone, 0, set_id, {}, true};
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<RecordStore> records_;
  int64_t session_id_ = 0;
  Random random_{3};
  int64_t started_ = 0;
};

TEST_P(JobReportTest, SixtyFourResultsAndStatesAreOneTransaction) {
  const auto leased = LeaseNew(kMostLeased);
  ASSERT_THAT(leased, SizeIs(kMostLeased));
  std::vector<JobReport> reports;
  for (const Job& job : leased) reports.push_back(DoneWith(job, NewSet()));
  const int64_t before = records_->State()->last_revision;

  EXPECT_THAT(*jobs_->Report(reports, 5), Each(true));

  EXPECT_THAT(In(JobState::kDone), SizeIs(kMostLeased));
  for (const JobReport& report : reports) EXPECT_TRUE(IsFinished(report.set_id));
  EXPECT_EQ(records_->State()->last_revision, before + static_cast<int64_t>(kMostLeased));
  if (GetParam() != DatabaseKind::kPostgres) return;
  EXPECT_THAT(*Connect()->Texts("SELECT count(*) FROM (SELECT CAST(xmin AS TEXT) FROM job UNION "
                                "SELECT CAST(xmin AS TEXT) FROM finished_set) AS transactions"),
              ElementsAre("1"));
}

TEST_P(JobReportTest, OneThatCannotBeWrittenLeavesAllOfThemUndone) {
  const auto leased = LeaseNew(3);
  const std::string set_id = NewSet();

  const auto taken = jobs_->Report(
      std::vector{DoneWith(leased[0], set_id), DoneWith(leased[1], "no such set")}, 5);

  EXPECT_EQ(taken.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(In(JobState::kLeased), SizeIs(3));
  EXPECT_FALSE(IsFinished(set_id));
}

TEST_P(JobReportTest, AResultOfALostLeaseIsNotServedAndThatOfTheNextAttemptIs) {
  const auto lost = LeaseNew(1);
  const auto again = Lease(1 + 2 * kLeaseNs);
  ASSERT_EQ(again.at(0).id, lost.at(0).id);
  const std::string of_lost = NewSet();
  const std::string of_again = NewSet();

  EXPECT_THAT(*jobs_->Report(std::vector{DoneWith(lost[0], of_lost)}, 5), ElementsAre(false));
  EXPECT_FALSE(IsFinished(of_lost));
  EXPECT_THAT(*jobs_->Report(std::vector{DoneWith(again[0], of_again)}, 5), ElementsAre(true));
  EXPECT_TRUE(IsFinished(of_again));
  EXPECT_THAT(*jobs_->Report(std::vector{DoneWith(again[0], of_again)}, 5), ElementsAre(false))
      << "A report that is repeated does nothing.";
}

INSTANTIATE_TEST_SUITE_P(Over, JobReportTest, ::testing::ValuesIn(DatabaseKinds()), NameOfKind);

}  // namespace
}  // namespace attune
