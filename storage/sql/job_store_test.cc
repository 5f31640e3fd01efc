#include "attune/session/job_store.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr JobStep kPerfCompile = {JobSearch::kPerf, JobWork::kCompile};
constexpr JobStep kPerfMeasure = {JobSearch::kPerf, JobWork::kMeasure};
constexpr JobStep kFindMeasure = {JobSearch::kFind, JobWork::kMeasure};
constexpr int64_t kLeaseNs = 1000;

// All steps, perf alone: the solver "k" compiles, "l" does not.
JobLoad PerfLoad() {
  JobLoad load;
  load.steps = {kPerfCompile, kPerfMeasure};
  load.loaded_by = "me@here";
  load.compiling_solvers = {"k"};
  return load;
}

LeaseTerms Terms(int64_t now, const std::string& owner = "w1") {
  return {{kPerfCompile, kPerfMeasure}, owner, now, kLeaseNs};
}

JobReport ReportOf(const Job& job, JobState state, JobError error = {}) {
  return {{job.id, job.attempts}, state, 5, state == JobState::kDone ? "set" : "", error};
}

class JobStoreTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    sessions_ = SessionsIn(database_);
    jobs_ = JobsIn(database_);
    Session session;
    session.name = "may";
    session.terms.backend = "host";
    session_id_ = sessions_->Create(session)->id;
  }

  LoadedJobs Load(const JobLoad& load, const std::vector<ProblemSolvers>& problems) {
    const auto loaded = jobs_->Load(session_id_, load, problems);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return *loaded;
  }
  std::vector<Job> Lease(const LeaseTerms& terms) {
    const auto leased = jobs_->Lease(session_id_, terms);
    EXPECT_TRUE(leased.ok()) << leased.status().message();
    return *leased;
  }
  int64_t Report(const JobReport& report, int64_t now = 1) {
    return jobs_->Report(std::vector{report}, now)->at(0) ? 1 : 0;
  }
  // "k perf:compile queued" of each job.
  std::vector<std::string> States(const JobFilter& filter = {}) {
    std::vector<std::string> states;
    const auto jobs = *jobs_->List(session_id_, filter);
    for (const Job& job : jobs) {
      states.push_back(job.solver + " " + Text(job.step) + " " + std::string(Name(job.state)));
    }
    return states;
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<JobStore> jobs_;
  int64_t session_id_ = 0;
};

TEST_P(JobStoreTest, LoadingTwiceAddsNothing) {
  const std::vector<ProblemSolvers> problems = {{SampleProblem(1), {"k", "l"}}};
  EXPECT_EQ(Load(PerfLoad(), problems).added, 3);
  const LoadedJobs again = Load(PerfLoad(), problems);
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.already_there, 3);
  EXPECT_THAT(States(), ElementsAre("k perf:compile queued", "k perf:measure queued",
                                    "l perf:measure queued"));
  const Job job = (*jobs_->List(session_id_, {}))[0];
  EXPECT_EQ(job.problem, SampleProblem(1));
  EXPECT_EQ(job.loaded_by, "me@here");
}

TEST_P(JobStoreTest, ASolverGetsNoJobOfAStepThatItIsLeftOutOf) {
  JobLoad load = PerfLoad();
  load.left_out = {{"k", kPerfCompile}, {"l", kPerfMeasure}};

  EXPECT_EQ(Load(load, {{SampleProblem(1), {"k", "l"}}}).added, 1);

  EXPECT_THAT(States(), ElementsAre("k perf:measure queued"));
  EXPECT_THAT(Lease(Terms(1)), SizeIs(1));
}

TEST_P(JobStoreTest, LoadingAgainWithAHigherPriorityRaisesWhatHasNotEnded) {
  const std::vector<ProblemSolvers> problems = {
      {SampleProblem(1), {"l"}}, {SampleProblem(2), {"l"}}, {SampleProblem(3), {"l"}}};
  Load(PerfLoad(), problems);
  const auto done = Lease(Terms(1));
  EXPECT_EQ(Report(ReportOf(done[0], JobState::kDone)), 1);
  const auto held = Lease(Terms(1));
  JobLoad urgent = PerfLoad();
  urgent.priority = 5;

  const LoadedJobs loaded = Load(urgent, problems);

  EXPECT_EQ(loaded.added, 0);
  EXPECT_EQ(loaded.already_there, 3);
  EXPECT_EQ(loaded.raised, 2);
  const auto jobs = *jobs_->List(session_id_, {});
  EXPECT_EQ(jobs[0].priority, 0);
  EXPECT_EQ(jobs[1].priority, 5);
  EXPECT_EQ(jobs[2].priority, 5);
  // A leased job stays leased, with its attempt.
  EXPECT_EQ(Report(ReportOf(held[0], JobState::kDone)), 1);
  // And nothing is lowered, or raised twice.
  EXPECT_EQ(Load(PerfLoad(), problems).raised, 0);
  EXPECT_EQ(Load(urgent, problems).raised, 0);
  EXPECT_EQ((*jobs_->List(session_id_, {}))[2].priority, 5);
}

TEST_P(JobStoreTest, NumbersOfAnotherSessionOrStepLeaseNothing) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}});
  Session june = sessions_->Find("may").value();
  june.name = "june";
  const int64_t other = sessions_->Create(june)->id;
  LeaseTerms terms = Terms(1);
  terms.ids = {jobs_->List(session_id_, {})->at(0).id};

  EXPECT_THAT(*jobs_->Lease(other, terms), IsEmpty());
  terms.steps = {kPerfCompile};
  EXPECT_THAT(Lease(terms), IsEmpty());
  terms.steps = {kPerfMeasure};
  EXPECT_THAT(Lease(terms), SizeIs(1));
}

TEST_P(JobStoreTest, WhatIsRaisedIsLeasedFirst) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}, {SampleProblem(2), {"l"}}});
  JobLoad urgent = PerfLoad();
  urgent.priority = 1;
  Load(urgent, {{SampleProblem(2), {"l"}}});

  const auto first = Lease(Terms(1));

  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].problem, SampleProblem(2));
}

TEST_P(JobStoreTest, ACompileJobIsNoLessUrgentThanWhatWaitsForIt) {
  JobLoad compile = PerfLoad();
  compile.steps = {kPerfCompile};
  Load(compile, {{SampleProblem(1), {"k"}}, {SampleProblem(2), {"k"}}});
  JobLoad urgent = PerfLoad();
  urgent.steps = {kPerfMeasure};
  urgent.priority = 3;

  const LoadedJobs loaded = Load(urgent, {{SampleProblem(2), {"k"}}});

  EXPECT_EQ(loaded.added, 1);
  EXPECT_EQ(loaded.raised, 1);
  const auto first = Lease(Terms(1));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].problem, SampleProblem(2));
  EXPECT_EQ(first[0].step, kPerfCompile);
}

TEST_P(JobStoreTest, FindAndPerfOfOneSolverAreDifferentJobs) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}});
  JobLoad find = PerfLoad();
  find.steps = {kFindMeasure};
  EXPECT_EQ(Load(find, {{SampleProblem(1), {"l"}}}).added, 1);
}

TEST_P(JobStoreTest, FindWaitsWhileSomebodySearchesWhatItIsToMeasure) {
  JobLoad load = PerfLoad();
  load.steps = {kPerfMeasure, kFindMeasure};
  Load(load, {{SampleProblem(1), {"l"}}, {SampleProblem(2), {"l"}}});
  LeaseTerms all = Terms(1);
  all.steps = {kPerfMeasure, kFindMeasure};
  const auto first = Lease(all);
  ASSERT_THAT(first, SizeIs(1));
  LeaseTerms find = Terms(1, "w2");
  find.steps = {kFindMeasure};

  // No worker holds perf of the second problem, and it may stay so.
  const auto of_second = Lease(find);
  ASSERT_THAT(of_second, SizeIs(1));
  EXPECT_EQ(of_second[0].problem, SampleProblem(2));
  EXPECT_THAT(Lease(find), IsEmpty());

  EXPECT_EQ(Report(ReportOf(first[0], JobState::kDone)), 1);
  const auto of_first = Lease(find);
  ASSERT_THAT(of_first, SizeIs(1));
  EXPECT_EQ(of_first[0].problem, SampleProblem(1));
}

TEST_P(JobStoreTest, AMeasureJobWaitsForItsOwnCompileAndForNoOther) {
  Load(PerfLoad(), {{SampleProblem(1), {"k"}}, {SampleProblem(2), {"k"}}});
  const auto first = Lease(Terms(1));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].step, kPerfCompile);
  EXPECT_EQ(first[0].problem, SampleProblem(1));
  LeaseTerms measure = Terms(1);
  measure.steps = {kPerfMeasure};
  EXPECT_THAT(Lease(measure), IsEmpty());
  EXPECT_EQ(Report(ReportOf(first[0], JobState::kDone)), 1);
  const auto ready = Lease(measure);
  ASSERT_THAT(ready, SizeIs(1));
  EXPECT_EQ(ready[0].problem, SampleProblem(1));
}

TEST_P(JobStoreTest, AFailedCompileCancelsItsMeasureJobWithTheCause) {
  Load(PerfLoad(), {{SampleProblem(1), {"k", "l"}}});
  const auto leased = Lease(Terms(1));
  const std::string any_bytes("it's \0 :name \xff", 14);
  EXPECT_EQ(Report(ReportOf(leased[0], JobState::kFailed, {"build_failed", any_bytes})), 1);
  EXPECT_THAT(States(), ElementsAre("k perf:compile failed", "k perf:measure cancelled",
                                    "l perf:measure queued"));
  const auto jobs = *jobs_->List(session_id_, {});
  EXPECT_EQ(jobs[0].error, (JobError{"build_failed", any_bytes}));
  EXPECT_EQ(jobs[1].error.kind, "compile");
  EXPECT_THAT(jobs[1].error.text, HasSubstr(any_bytes));

  JobFilter failed;
  failed.states = {JobState::kFailed};
  EXPECT_EQ(*jobs_->Requeue(session_id_, failed), 1);
  EXPECT_THAT(States(), ElementsAre("k perf:compile queued", "k perf:measure queued",
                                    "l perf:measure queued"));
  LeaseTerms measure = Terms(1);
  measure.steps = {kPerfMeasure};
  const auto other = Lease(measure);
  ASSERT_THAT(other, SizeIs(1));
  EXPECT_EQ(other[0].solver, "l");
}

TEST_P(JobStoreTest, AMeasureJobFollowsItsCompileJobWhateverHappensToThat) {
  const std::vector<ProblemSolvers> problems = {{SampleProblem(1), {"k"}}};
  Load(PerfLoad(), problems);
  LeaseTerms measure = Terms(1);
  measure.steps = {kPerfMeasure};
  JobFilter compile;
  compile.steps = {kPerfCompile};

  // Cancelled with it, and queued again with it.
  EXPECT_EQ(*jobs_->Cancel(session_id_, compile, {"by hand", "not now"}), 1);
  EXPECT_THAT(States(), ElementsAre("k perf:compile cancelled", "k perf:measure cancelled"));
  EXPECT_EQ(*jobs_->Requeue(session_id_, compile), 1);
  EXPECT_THAT(States(), ElementsAre("k perf:compile queued", "k perf:measure queued"));
  EXPECT_THAT(Lease(measure), IsEmpty());

  // Both done, both queued again: it waits once more.
  Report(ReportOf(Lease(Terms(1))[0], JobState::kDone));
  Report(ReportOf(Lease(measure)[0], JobState::kDone));
  EXPECT_EQ(*jobs_->Requeue(session_id_, {}), 2);
  EXPECT_THAT(Lease(measure), IsEmpty());

  // While it is measured its compile fails; that counts when it is given back.
  Report(ReportOf(Lease(Terms(1))[0], JobState::kDone));
  const Job leased = Lease(measure)[0];
  EXPECT_EQ(*jobs_->Requeue(session_id_, compile), 1);
  Report(ReportOf(Lease(Terms(1))[0], JobState::kFailed, {"build_failed", "why"}));
  EXPECT_THAT(States(), ElementsAre("k perf:compile failed", "k perf:measure leased"));
  Report(ReportOf(leased, JobState::kQueued));
  EXPECT_THAT(States(), ElementsAre("k perf:compile failed", "k perf:measure cancelled"));

  // A lease for this problem alone fails with the reason.
  JobFilter alone;
  alone.steps = {kPerfMeasure};
  EXPECT_EQ(*jobs_->Requeue(session_id_, alone), 0);
  EXPECT_THAT(States(), ElementsAre("k perf:compile failed", "k perf:measure cancelled"));
}

TEST_P(JobStoreTest, WhatFindMeasuredGoesWithTheSearchThatItsParametersAreFrom) {
  JobLoad load = PerfLoad();
  load.steps = {kPerfMeasure, kFindMeasure};
  Load(load, {{SampleProblem(1), {"l"}}, {SampleProblem(2), {"l"}}});
  LeaseTerms terms = Terms(1);
  terms.steps = {kPerfMeasure, kFindMeasure};
  for (int i = 0; i < 4; ++i) Report(ReportOf(Lease(terms)[0], JobState::kDone));
  const std::vector<Job> all = *jobs_->List(session_id_, {});
  JobFilter searched;
  for (const Job& job : all) {
    if (job.problem == SampleProblem(1) && job.step == kPerfMeasure) searched.ids = {job.id};
  }

  EXPECT_EQ(*jobs_->Requeue(session_id_, searched), 2);

  const std::vector<Job> after = *jobs_->List(session_id_, {});
  for (const Job& job : after) {
    EXPECT_EQ(job.state == JobState::kQueued, job.problem == SampleProblem(1)) << job.id;
  }
}

TEST_P(JobStoreTest, WhatFindMeasuredIsMeasuredAgainAfterASearchThatWasLoadedLater) {
  JobLoad load = PerfLoad();
  load.steps = {kFindMeasure};
  Load(load, {{SampleProblem(1), {"l"}}, {SampleProblem(2), {"l"}}});
  LeaseTerms terms = Terms(1);
  terms.steps = {kPerfMeasure, kFindMeasure};
  Report(ReportOf(Lease(terms)[0], JobState::kDone));
  Report(ReportOf(Lease(terms)[0], JobState::kDone));
  load.steps = {kPerfMeasure};
  Load(load, {{SampleProblem(1), {"l"}}});
  const Job searched = Lease(terms)[0];

  EXPECT_EQ(Report(ReportOf(searched, JobState::kDone)), 1);

  const std::vector<Job> again = Lease(terms);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].step, kFindMeasure);
  EXPECT_EQ(again[0].problem, SampleProblem(1));
  EXPECT_EQ(Report(ReportOf(again[0], JobState::kDone)), 1);
  EXPECT_THAT(Lease(terms), IsEmpty());
}

TEST_P(JobStoreTest, AFailedSearchLeavesWhatFindMeasured) {
  JobLoad load = PerfLoad();
  load.steps = {kFindMeasure};
  Load(load, {{SampleProblem(1), {"l"}}});
  LeaseTerms terms = Terms(1);
  terms.steps = {kPerfMeasure, kFindMeasure};
  Report(ReportOf(Lease(terms)[0], JobState::kDone));
  load.steps = {kPerfMeasure};
  Load(load, {{SampleProblem(1), {"l"}}});

  EXPECT_EQ(Report(ReportOf(Lease(terms)[0], JobState::kFailed, {"crashed", "It died."})), 1);

  EXPECT_THAT(Lease(terms), IsEmpty());
}

TEST_P(JobStoreTest, AFindJobThatASearchOvertookIsDoneAgain) {
  JobLoad load = PerfLoad();
  load.steps = {kFindMeasure};
  Load(load, {{SampleProblem(1), {"l"}}});
  LeaseTerms find = Terms(1);
  find.steps = {kFindMeasure};
  const Job slow = Lease(find)[0];
  load.steps = {kPerfMeasure};
  Load(load, {{SampleProblem(1), {"l"}}});
  LeaseTerms perf = Terms(1, "w2");
  perf.steps = {kPerfMeasure};
  Report(ReportOf(Lease(perf)[0], JobState::kDone), 10);

  EXPECT_EQ(Report(ReportOf(slow, JobState::kDone), 20), 1);

  find.now_unix_ns = 30;
  EXPECT_THAT(Lease(find), SizeIs(1));
}

TEST_P(JobStoreTest, JobsThatAreLoadedLaterFollow) {
  const std::vector<ProblemSolvers> problems = {{SampleProblem(1), {"k"}}};
  JobLoad measure_only = PerfLoad();
  measure_only.steps = {kPerfMeasure};
  JobLoad compile_only = PerfLoad();
  compile_only.steps = {kPerfCompile};
  Load(measure_only, problems);
  Load(compile_only, problems);
  LeaseTerms measure = Terms(1);
  measure.steps = {kPerfMeasure};
  EXPECT_THAT(Lease(measure), IsEmpty());

  const std::vector<ProblemSolvers> others = {{SampleProblem(2), {"k"}}};
  Report(ReportOf(Lease(Terms(1))[0], JobState::kDone));
  Load(compile_only, others);
  Report(ReportOf(Lease(Terms(1))[0], JobState::kFailed, {"build_failed", "why"}));
  Load(measure_only, others);
  EXPECT_THAT(States(), ElementsAre("k perf:measure queued", "k perf:compile done",
                                    "k perf:compile failed", "k perf:measure cancelled"));
}

TEST_P(JobStoreTest, LostLeasesCountInARow) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}});
  int64_t now = 1;
  for (int64_t i = 1; i < kMostLostLeases; ++i) {
    Lease(Terms(now));
    now += kLeaseNs + 1;
  }
  Report(ReportOf(Lease(Terms(now))[0], JobState::kQueued), now);
  Lease(Terms(now));
  now += kLeaseNs + 1;
  EXPECT_THAT(Lease(Terms(now)), SizeIs(1));
}

TEST_P(JobStoreTest, JobsOfOneProblemAreLeasedTogetherByPriority) {
  Load(PerfLoad(), {{SampleProblem(1), {"l", "m"}}});
  JobLoad urgent = PerfLoad();
  urgent.priority = 3;
  Load(urgent, {{SampleProblem(2), {"m", "l"}}});
  const auto first = Lease(Terms(1));
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].problem, SampleProblem(2));
  EXPECT_EQ(first[1].problem, SampleProblem(2));
  EXPECT_EQ(first[0].owner, "w1");
  EXPECT_EQ(Lease(Terms(1))[0].problem, SampleProblem(1));
  EXPECT_THAT(Lease(Terms(1)), IsEmpty());
}

TEST_P(JobStoreTest, AnExpiredLeaseGoesBackAndItsReportCountsForNothing) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}});
  const Job lost = Lease(Terms(1))[0];
  EXPECT_THAT(Lease(Terms(1 + kLeaseNs, "w2")), IsEmpty());
  const auto again = Lease(Terms(2 + kLeaseNs, "w2"));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].attempts, 2);
  EXPECT_EQ(Report(ReportOf(lost, JobState::kDone)), 0);
  EXPECT_THAT(States(), ElementsAre("l perf:measure leased"));
  EXPECT_EQ(Report(ReportOf(again[0], JobState::kDone)), 1);
  EXPECT_EQ(Report(ReportOf(again[0], JobState::kFailed)), 0);
  EXPECT_THAT(States(), ElementsAre("l perf:measure done"));
}

TEST_P(JobStoreTest, WhoIsGoneHoldsNothing) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}, {SampleProblem(2), {"l"}}});
  const Job gone = Lease(Terms(1, "gone"))[0];
  const Job alive = Lease(Terms(1, "alive"))[0];
  ASSERT_EQ(jobs_->ExpireLeasesOf(session_id_, "gone"), Status::Ok());
  const auto again = Lease(Terms(1, "next"));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].id, gone.id);
  EXPECT_EQ(Report(ReportOf(gone, JobState::kDone)), 0);
  EXPECT_EQ(Report(ReportOf(alive, JobState::kDone)), 1);
}

TEST_P(JobStoreTest, ARenewedLeaseDoesNotExpire) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}});
  const Job job = Lease(Terms(1))[0];
  const std::vector<JobClaim> claims = {{job.id, job.attempts}, {job.id, job.attempts + 1}};
  EXPECT_EQ(*jobs_->Renew(claims, 10 * kLeaseNs), 1);
  EXPECT_THAT(Lease(Terms(2 + kLeaseNs)), IsEmpty());
  EXPECT_EQ(Report(ReportOf(job, JobState::kDone)), 1);
}

TEST_P(JobStoreTest, WhatIsLostAgainAndAgainHasFailed) {
  Load(PerfLoad(), {{SampleProblem(1), {"k"}}});
  int64_t now = 1;
  for (int64_t i = 0; i < kMostLostLeases; ++i) {
    ASSERT_THAT(Lease(Terms(now)), SizeIs(1));
    now += kLeaseNs + 1;
  }
  EXPECT_THAT(Lease(Terms(now)), IsEmpty());
  EXPECT_THAT(States(), ElementsAre("k perf:compile failed", "k perf:measure cancelled"));
  EXPECT_EQ((*jobs_->List(session_id_, {}))[0].error.kind, "abandoned");
}

TEST_P(JobStoreTest, ALeaseThatWasCancelledCannotReportForTheNextOne) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}});
  const Job first = Lease(Terms(1))[0];
  EXPECT_EQ(*jobs_->Cancel(session_id_, {}, {"by hand", "enough"}), 1);
  EXPECT_EQ(Report(ReportOf(first, JobState::kDone)), 0);
  EXPECT_EQ(*jobs_->Cancel(session_id_, {}, {"by hand", "enough"}), 0);
  EXPECT_EQ((*jobs_->List(session_id_, {}))[0].error.text, "enough");
  EXPECT_EQ(*jobs_->Requeue(session_id_, {}), 1);
  const Job second = Lease(Terms(1, "w2"))[0];
  EXPECT_EQ(Report(ReportOf(first, JobState::kDone)), 0);
  EXPECT_EQ(Report(ReportOf(second, JobState::kQueued)), 1);
  EXPECT_THAT(States(), ElementsAre("l perf:measure queued"));
}

TEST_P(JobStoreTest, CountsAreOfStatesAndOfCauses) {
  Load(PerfLoad(), {{SampleProblem(1), {"k", "l", "m"}}});
  const auto compile = Lease(Terms(1));
  Report(ReportOf(compile[0], JobState::kDone), 10);
  auto measure = Lease(Terms(1));
  ASSERT_THAT(measure, SizeIs(3));
  Report(ReportOf(measure[0], JobState::kFailed, {"wrong_result", ""}), 20);
  Report(ReportOf(measure[1], JobState::kFailed, {"crashed", ""}), 30);
  const JobCounts counts = *jobs_->Count(session_id_, 15);
  EXPECT_THAT(counts.steps.at(kPerfCompile), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(counts.steps.at(kPerfMeasure), ElementsAre(0, 1, 0, 2, 0));
  EXPECT_THAT(counts.failures, ElementsAre(std::pair("crashed", 1), std::pair("wrong_result", 1)));
  ASSERT_THAT(counts.owners, SizeIs(1));
  const OwnerWork& work = counts.owners.begin()->second;
  EXPECT_EQ(work.ended, 2);
  EXPECT_EQ(work.first_ended_unix_ns, 20);
  EXPECT_EQ(work.ended_first, 1);
  EXPECT_EQ(work.last_ended_unix_ns, 30);
  EXPECT_GT(work.deadline_unix_ns, 0);
  EXPECT_EQ(counts.Of(JobState::kFailed), 2);
}

TEST_P(JobStoreTest, FiltersTakeJobsByEachOfTheirParts) {
  Load(PerfLoad(), {{SampleProblem(1), {"k", "l"}}, {SampleProblem(2), {"l"}}});
  JobFilter filter;
  filter.problem = SampleProblem(2);
  EXPECT_THAT(States(filter), ElementsAre("l perf:measure queued"));
  filter = {};
  filter.solver = "k";
  EXPECT_THAT(States(filter), SizeIs(2));
  filter.steps = {kPerfCompile};
  EXPECT_THAT(States(filter), ElementsAre("k perf:compile queued"));
  filter.problem = SampleProblem(3);
  EXPECT_THAT(States(filter), IsEmpty());
}

TEST_P(JobStoreTest, AClosedSessionTakesNoJobs) {
  ASSERT_EQ(sessions_->Close(session_id_, "me"), Status::Ok());
  const std::vector<ProblemSolvers> problems = {{SampleProblem(1), {"k"}}};
  EXPECT_EQ(jobs_->Load(session_id_, PerfLoad(), problems).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_P(JobStoreTest, JobsOfAClosedSessionStayAsTheyAre) {
  Load(PerfLoad(), {{SampleProblem(1), {"l"}}, {SampleProblem(2), {"l"}}});
  const auto done = Lease(Terms(1));
  EXPECT_EQ(Report(ReportOf(done[0], JobState::kDone)), 1);
  ASSERT_EQ(sessions_->Close(session_id_, "me@here"), Status::Ok());
  const auto before = *jobs_->List(session_id_, {});

  for (const auto& refused : {jobs_->Cancel(session_id_, {}, {"by hand", ""}).status(),
                              jobs_->Requeue(session_id_, {}).status()}) {
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("Session 'may' is closed since 2"));
    EXPECT_THAT(refused.message(), HasSubstr("(by me@here), so its jobs stay as they are."));
  }
  EXPECT_EQ(*jobs_->List(session_id_, {}), before);
}

TEST_P(JobStoreTest, NoJobOfAClosedSessionIsLeased) {
  Load(PerfLoad(), {{SampleProblem(1), {"k"}}});
  ASSERT_EQ(sessions_->Close(session_id_, "me@here"), Status::Ok());

  const auto leased = jobs_->Lease(session_id_, Terms(1));

  EXPECT_EQ(leased.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(leased.status().message(), HasSubstr("Session 'may' is closed since 2"));
  EXPECT_THAT(States(), ElementsAre("k perf:compile queued", "k perf:measure queued"));
}

TEST_P(JobStoreTest, JobsThatAreGoneAreMissed) {
  Load(PerfLoad(), {{SampleProblem(1), {"k"}}});
  {
    auto connection = Connect();
    ASSERT_EQ(connection->BeginWrite(), Status::Ok());
    ASSERT_EQ(connection->Execute("DELETE FROM job WHERE step = 'perf:measure'"), Status::Ok());
    ASSERT_EQ(connection->Commit(), Status::Ok());
  }
  EXPECT_EQ(jobs_->List(session_id_, {}).status().code(), StatusCode::kDataLoss);
}

TEST_P(JobStoreTest, ThreadsNeverLeaseTheSameJob) {
  std::vector<ProblemSolvers> problems;
  for (int64_t i = 0; i < 40; ++i) problems.push_back({SampleProblem(i), {"l"}});
  Load(PerfLoad(), problems);
  std::vector<std::thread> threads;
  std::atomic<int64_t> leased = 0;
  std::atomic<int64_t> reported = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto jobs = JobsIn(Open());
      for (;;) {
        const auto mine = jobs->Lease(session_id_, Terms(1, std::to_string(i)));
        if (!mine.ok() || mine->empty()) return;
        leased += static_cast<int64_t>(mine->size());
        const auto taken = jobs->Report(std::vector{ReportOf(mine->front(), JobState::kDone)}, 1);
        reported += taken.ok() && taken->at(0) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(leased, 40);
  EXPECT_EQ(reported, 40);
}

TEST_P(JobStoreTest, LoadingReadsNoTableFromEndToEndHoweverItHasGrown) {
  if (GetParam() != DatabaseKind::kPostgres) GTEST_SKIP() << "Others count nothing.";
  std::vector<ProblemSolvers> problems;
  for (int64_t i = 0; i < 1500; ++i) problems.push_back({SampleProblem(i), {"l"}});
  Load(PerfLoad(), problems);
  EXPECT_EQ(Load(PerfLoad(), problems).already_there, 1500);
  // A connection reports the rows that it has read when it ends.
  jobs_.reset();
  sessions_.reset();
  database_.reset();

  const auto read = Connect()->Texts(
      "SELECT relname || ' ' || seq_tup_read FROM pg_stat_user_tables WHERE relname IN ('problem', "
      "'job') ORDER BY relname");

  EXPECT_THAT(*read, ElementsAre("job 0", "problem 0"));
}

INSTANTIATE_TEST_SUITE_P(Databases, JobStoreTest, ::testing::ValuesIn(DatabaseKinds()), NameOfKind);

}  // namespace
}  // namespace attune
