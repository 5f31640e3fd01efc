#include "tests/fleet/session_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/store/sample_records.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One problem with two solvers, of which "a" is done and "b" has failed, in one set.
class SessionOracleTest : public ::testing::Test {
 protected:
  SessionOracleTest() {
    session_.jobs = {JobOf(1, "a"), JobOf(2, "b")};
    session_.jobs[1].state = JobState::kFailed;
    session_.jobs[1].error = {"crashed", "It died of signal 11."};
    session_.sets = {SetOf("one", {"a"})};
    Fail("b", session_.sets[0]);
    expected_ = {{Text(SampleProblem(1)), "a"}, {Text(SampleProblem(1)), "b"}};
  }

  static Job JobOf(int64_t id, const std::string& solver) {
    Job job;
    job.id = id;
    job.problem = SampleProblem(1);
    job.solver = solver;
    job.state = JobState::kDone;
    job.attempts = 1;
    job.set_id = "one";
    return job;
  }
  // A set at its end with a result of each of `solvers`.
  static RecordedSet SetOf(const std::string& id, const std::vector<std::string>& solvers) {
    RecordedSet recorded;
    recorded.set.id = id;
    recorded.set.problem = SampleProblem(1);
    recorded.finished = true;
    for (const std::string& solver : solvers) {
      Record& record = recorded.records.emplace_back();
      record.trial.candidate.solver = {solver, 1};
      record.trial.outcome = Measurement{};
    }
    return recorded;
  }
  static void Fail(const std::string& solver, RecordedSet& recorded) {
    Record& record = recorded.records.emplace_back();
    record.trial.candidate.solver = {solver, 1};
    record.trial.outcome = Failure{FailureKind::kCrashed, Phase::kRun, "It died of signal 11."};
  }
  std::vector<std::string> Wrong() const { return Contradictions(session_, expected_); }

  SessionState session_;
  ExpectedJobs expected_;
};

TEST_F(SessionOracleTest, WhatIsAsItHasToBeHasNoContradiction) { EXPECT_THAT(Wrong(), IsEmpty()); }

TEST_F(SessionOracleTest, WhatWasCutOffSaysNothing) {
  session_.sets.push_back(SetOf("cut off", {"a"}));
  session_.sets[1].finished = false;

  EXPECT_THAT(Wrong(), IsEmpty());
}

TEST_F(SessionOracleTest, AResultOfAnAttemptThatWasFencedOffIsFound) {
  session_.sets.push_back(SetOf("two", {"a"}));

  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("is done in set 'one' and has results in [one, two]"),
                                   HasSubstr("Set two of")));
}

TEST_F(SessionOracleTest, ASetAtItsEndThatNobodyHasIsFoundWithoutAResult) {
  session_.sets.push_back(SetOf("two", {}));

  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("Set two of")));
}

TEST_F(SessionOracleTest, AJobThatIsDoneWithoutAResultIsFound) {
  Fail("a", session_.sets[0]);
  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("has results in []")));

  session_.sets = {SetOf("one", {"a"})};
  session_.sets[0].finished = false;
  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("has results in []")));
}

TEST_F(SessionOracleTest, AJobThatFailedAndHasAResultIsFound) {
  session_.sets = {SetOf("one", {"a", "b"})};

  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("failed (crashed) and has results in [one]")));
}

TEST_F(SessionOracleTest, AFailureWithoutAReasonIsFound) {
  session_.jobs[1].error.text.clear();

  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("does not say why")));
}

TEST_F(SessionOracleTest, AJobThatIsLostOrNobodysOrHasNotEndedIsFound) {
  session_.jobs[1].state = JobState::kQueued;
  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("is queued")));

  session_.jobs.pop_back();
  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("There is no job of b")));

  session_.jobs.push_back(session_.jobs[0]);
  EXPECT_THAT(Wrong(), ::testing::Contains(HasSubstr("nobody's, or twice")));
}

TEST_F(SessionOracleTest, AResultOfASolverThatNobodyAskedForIsFound) {
  session_.sets = {SetOf("one", {"a", "c"})};

  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("There are results of c")));
  // But for the one that the others are compared with.
  session_.sets[0].records[1].trial.is_default = true;
  EXPECT_THAT(Wrong(), IsEmpty());
}

}  // namespace
}  // namespace attune
