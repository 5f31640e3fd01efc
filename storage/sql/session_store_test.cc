#include "attune/session/session_store.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/session/session_records.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool NoneIsOwn(std::string_view) { return false; }

Session Named(const std::string& name) {
  Session session;
  session.name = name;
  session.reason = "because of\n\xff";
  session.created_by = "somebody@somewhere";
  session.created_unix_ns = 42;
  const Target target = SampleTarget();
  session.terms = {target.backend, target.arch, target, FixedPart(SampleEnvironment(), NoneIsOwn)};
  return session;
}

SolverEntry Entry(const std::string& name, int version) {
  SolverEntry entry;
  entry.solver = {name, version};
  entry.operator_name = "gemm";
  entry.dynamic = true;
  entry.code = {{"library.packed.build_id", "x=y\n1"}};
  return entry;
}

class SessionStoreTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    records_ = RecordsIn(database_);
    sessions_ = SessionsIn(database_);
  }

  Session Make(const std::string& name) {
    const auto made = sessions_->Create(Named(name));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *made;
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<RecordStore> records_;
  std::unique_ptr<SessionStore> sessions_;
  Random random_{7};
};

TEST_P(SessionStoreTest, ASessionIsFoundAsItWasMade) {
  const Session made = Make("may");
  Session expected = Named("may");
  expected.id = made.id;
  EXPECT_EQ(made, expected);
  EXPECT_EQ(*SessionsIn(Open())->Find("may"), expected);
  EXPECT_THAT(*sessions_->List(), ElementsAre(expected));
}

TEST_P(SessionStoreTest, ANameIsTakenOnce) {
  Make("may");
  EXPECT_EQ(sessions_->Create(Named("may")).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(sessions_->Create(Named("\n")).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(SessionStoreTest, AnUnknownNameNamesThoseThatThereAre) {
  EXPECT_THAT(sessions_->Find("may").status().message(), HasSubstr("session new"));
  Make("may");
  const Status unknown = sessions_->Find("june").status();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("may"));
}

TEST_P(SessionStoreTest, OnlyWhatBelongsIsStored) {
  const Session session = Make("may");
  const MeasurementSet good = SampleSet(1, 1, random_);
  MeasurementSet other_device = SampleSet(1, 2, random_);
  other_device.target.device = "another";
  MeasurementSet other_library = SampleSet(1, 3, random_);
  ASSERT_FALSE(session.terms.fixed.empty());
  const std::string field = session.terms.fixed.begin()->first;
  other_library.environment[field] = "another";

  EXPECT_EQ(sessions_->BeginSet(session.id, good), Status::Ok());
  EXPECT_EQ(sessions_->BeginSet(session.id, good), Status::Ok());
  const Status device = sessions_->BeginSet(session.id, other_device);
  EXPECT_EQ(device.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(device.message(), HasSubstr("another"));
  const Status library = sessions_->BeginSet(session.id, other_library);
  EXPECT_EQ(library.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(library.message(), HasSubstr(field));

  EXPECT_EQ(Collected(*records_)->size(), 1u);
  EXPECT_EQ(sessions_->Find("may")->set_count, 1);
}

TEST_P(SessionStoreTest, EachSessionSeesItsOwnSets) {
  const Session may = Make("may");
  const Session june = Make("june");
  const auto of_may = RecordsOf(may.id, *records_, *sessions_);
  const auto of_june = RecordsOf(june.id, *records_, *sessions_);
  const MeasurementSet in_may = SampleSet(1, 1, random_);
  const MeasurementSet in_june = SampleSet(1, 2, random_);
  ASSERT_EQ(of_may->BeginSet(in_may), Status::Ok());
  ASSERT_EQ(of_june->BeginSet(in_june), Status::Ok());
  ASSERT_EQ(records_->BeginSet(SampleSet(1, 3, random_)), Status::Ok());
  ASSERT_EQ(of_may->FinishSet(in_may.id), Status::Ok());

  ASSERT_EQ(Collected(*of_may)->size(), 1u);
  EXPECT_EQ((*Collected(*of_may))[0].set, in_may);
  EXPECT_TRUE((*Collected(*of_may))[0].finished);
  ASSERT_EQ(Collected(*of_june)->size(), 1u);
  EXPECT_EQ((*Collected(*of_june))[0].set, in_june);
  EXPECT_EQ(Collected(*records_)->size(), 3u);
  EXPECT_EQ(sessions_->BeginSet(june.id, in_may).code(), StatusCode::kInvalidArgument);
}

TEST_P(SessionStoreTest, AClosedSessionTakesNothingMore) {
  const Session session = Make("may");
  ASSERT_EQ(records_->AddProblems("t", SampleProblems(1)), Status::Ok());
  ASSERT_EQ(sessions_->Close(session.id, "me@here"), Status::Ok());
  const Session closed = *sessions_->Find("may");
  EXPECT_TRUE(closed.is_closed());
  EXPECT_EQ(closed.closed_by, "me@here");
  ASSERT_EQ(sessions_->Close(session.id, "somebody else"), Status::Ok());
  EXPECT_EQ(*sessions_->Find("may"), closed);
  EXPECT_EQ(sessions_->BeginSet(session.id, SampleSet(1, 1, random_)).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(sessions_->AddTag(session.id, "t").code(), StatusCode::kFailedPrecondition);
}

TEST_P(SessionStoreTest, OneForAnArchitectureIsBoundOnce) {
  Session open = Named("may");
  open.terms.target.reset();
  open.terms.fixed.clear();
  const Session made = *sessions_->Create(open);
  EXPECT_EQ(made.terms, open.terms);
  Target elsewhere = SampleTarget();
  elsewhere.arch = "another";
  EXPECT_EQ(sessions_->Bind(made.id, elsewhere, {}).status().code(),
            StatusCode::kFailedPrecondition);
  const Environment fixed = FixedPart(SampleEnvironment(), NoneIsOwn);
  ASSERT_TRUE(sessions_->Bind(made.id, SampleTarget(), fixed).ok());
  EXPECT_EQ(sessions_->Find("may")->terms, Named("may").terms);
  EXPECT_TRUE(sessions_->Bind(made.id, SampleTarget(), fixed).ok());
  Target sibling = SampleTarget();
  sibling.compute_units += 1;
  EXPECT_EQ(sessions_->Bind(made.id, sibling, fixed).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_P(SessionStoreTest, TheProblemsOfItsTagsHaveTheSumOfTheirWeights) {
  const Session session = Make("may");
  EXPECT_EQ(sessions_->AddTag(session.id, "a").code(), StatusCode::kNotFound);
  const auto problems = SampleProblems(3);
  ASSERT_EQ(records_->AddProblems("a", std::vector(problems.begin(), problems.begin() + 2)),
            Status::Ok());
  ASSERT_EQ(records_->AddProblems("b", std::vector(problems.begin() + 1, problems.end())),
            Status::Ok());
  ASSERT_EQ(sessions_->AddTag(session.id, "b"), Status::Ok());
  ASSERT_EQ(sessions_->AddTag(session.id, "a"), Status::Ok());
  ASSERT_EQ(sessions_->AddTag(session.id, "b"), Status::Ok());
  EXPECT_THAT(*sessions_->Tags(session.id), ElementsAre("b", "a"));
  auto shared = problems[1];
  shared.weight *= 2;
  EXPECT_THAT(*sessions_->Problems(session.id), ElementsAre(shared, problems[2], problems[0]));
}

TEST_P(SessionStoreTest, ProblemsOfJobsAndOfMeasurementsAreItsOwnWithoutATag) {
  const Session session = Make("may");
  const auto problems = SampleProblems(4);
  EXPECT_THAT(*sessions_->Problems(session.id), IsEmpty());
  ASSERT_EQ(sessions_->BeginSet(session.id, SampleSet(0, 1, random_)), Status::Ok());
  JobLoad load;
  load.steps = {{JobSearch::kPerf, JobWork::kMeasure}};
  load.loaded_by = "somebody@somewhere";
  const std::vector<ProblemSolvers> loaded = {{problems[1].problem, {"a", "b"}},
                                              {problems[2].problem, {"a"}}};
  ASSERT_TRUE(JobsIn(database_)->Load(session.id, load, loaded).ok());
  ASSERT_EQ(records_->AddProblems("t", std::vector{problems[3], problems[2]}), Status::Ok());
  ASSERT_EQ(sessions_->AddTag(session.id, "t"), Status::Ok());
  const Problem measured = SampleSet(0, 1, random_).problem;

  EXPECT_THAT(*sessions_->Problems(session.id),
              ElementsAre(problems[3], problems[2], TaggedProblem{problems[1].problem, 1},
                          TaggedProblem{measured, 1}));
  EXPECT_THAT(*sessions_->Problems(Make("june").id), IsEmpty());
}

TEST_P(SessionStoreTest, SolversHaveGenerations) {
  const Session session = Make("may");
  EXPECT_EQ(sessions_->Solvers(session.id)->generation, 0);
  const std::vector<SolverEntry> first = {Entry("host.b", 1), Entry("host.a", 2)};
  const SolverTable made = *sessions_->UpdateSolvers(session.id, first);
  EXPECT_EQ(made.generation, 1);
  ASSERT_EQ(made.entries.size(), 2u);
  EXPECT_TRUE(made.entries[0].SameAs(first[0]));
  EXPECT_EQ(sessions_->UpdateSolvers(session.id, first)->generation, 1);
  EXPECT_EQ(sessions_->UpdateSolvers(session.id, made.entries)->generation, 1);

  const std::vector<SolverEntry> second = {Entry("host.b", 1), Entry("host.a", 3)};
  EXPECT_EQ(sessions_->UpdateSolvers(session.id, second)->generation, 2);
  const SolverTable newest = *sessions_->Solvers(session.id);
  EXPECT_EQ(newest.generation, 2);
  ASSERT_EQ(newest.entries.size(), 2u);
  EXPECT_TRUE(newest.entries[1].SameAs(second[1]));
  EXPECT_EQ(sessions_->AllSolvers(session.id)->size(), 4u);
}

TEST_P(SessionStoreTest, ApplicabilityIsReplacedProblemByProblem) {
  const Session session = Make("may");
  const std::vector<ProblemSolvers> found = {{SampleProblem(1), {"host.a", "host.b"}},
                                             {SampleProblem(2), {}}};
  ASSERT_EQ(sessions_->SetApplicability(session.id, 1, found), Status::Ok());
  EXPECT_EQ(*sessions_->Applicability(session.id, 1), found);
  const std::vector<ProblemSolvers> again = {{SampleProblem(2), {"host.b"}}};
  ASSERT_EQ(sessions_->SetApplicability(session.id, 2, again), Status::Ok());
  EXPECT_EQ(*sessions_->Applicability(session.id, 2), again);
  EXPECT_EQ(sessions_->Applicability(session.id, 1)->size(), 1u);
}

TEST_P(SessionStoreTest, RowsThatAreGoneAreMissed) {
  const Session session = Make("may");
  ASSERT_EQ(records_->AddProblems("a", SampleProblems(1)), Status::Ok());
  ASSERT_EQ(sessions_->AddTag(session.id, "a"), Status::Ok());
  {
    auto connection = Connect();
    ASSERT_EQ(connection->BeginWrite(), Status::Ok());
    ASSERT_EQ(connection->Execute("DELETE FROM session_tag"), Status::Ok());
    ASSERT_EQ(connection->Commit(), Status::Ok());
  }
  const Status lost = sessions_->Tags(session.id).status();
  EXPECT_EQ(lost.code(), StatusCode::kDataLoss);
  EXPECT_THAT(lost.message(), HasSubstr("tag_count"));
}

TEST_P(SessionStoreTest, ProblemsOfJobsAndSetsThatAreGoneAreMissed) {
  const Session session = Make("may");
  ASSERT_EQ(sessions_->BeginSet(session.id, SampleSet(0, 1, random_)), Status::Ok());
  JobLoad load;
  load.steps = {{JobSearch::kPerf, JobWork::kMeasure}};
  load.loaded_by = "somebody@somewhere";
  const std::vector<ProblemSolvers> loaded = {{SampleProblem(1), {"a", "b"}}};
  ASSERT_TRUE(JobsIn(database_)->Load(session.id, load, loaded).ok());
  ASSERT_EQ(sessions_->Problems(session.id)->size(), 2u);
  for (const auto& [table, column] :
       {std::pair("job", "job_count"), std::pair("session_set", "set_count")}) {
    auto connection = Connect();
    ASSERT_EQ(connection->BeginWrite(), Status::Ok());
    ASSERT_EQ(connection->Execute(std::string("CREATE TABLE kept_") + table + " AS SELECT * FROM " +
                                  table),
              Status::Ok());
    ASSERT_EQ(connection->Execute(std::string("DELETE FROM ") + table), Status::Ok());
    ASSERT_EQ(connection->Commit(), Status::Ok());

    const Status lost = sessions_->Problems(session.id).status();

    EXPECT_EQ(lost.code(), StatusCode::kDataLoss);
    EXPECT_THAT(lost.message(), HasSubstr(column));
    ASSERT_EQ(
        connection->Execute(std::string("INSERT INTO ") + table + " SELECT * FROM kept_" + table),
        Status::Ok());
  }
}

TEST_P(SessionStoreTest, NetworksAreListsBesideTags) {
  const Network resnet{"Resnet50", "1", "Pytorch", "2.11"};
  EXPECT_THAT(*records_->Networks(), IsEmpty());
  ASSERT_EQ(records_->AddNetwork(resnet, SampleProblems(3)), Status::Ok());
  ASSERT_EQ(records_->AddNetwork({"Bert", "", "", ""}, SampleProblems(1)), Status::Ok());
  EXPECT_THAT(*records_->Networks(),
              ElementsAre(std::pair(Network{"Bert", "", "", ""}, 1), std::pair(resnet, 3)));
  EXPECT_EQ(*records_->ProblemsOf(resnet), SampleProblems(3));
  EXPECT_THAT(*records_->ProblemsOf({"Gpt", "", "", ""}), IsEmpty());
  EXPECT_THAT(*records_->Tags(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Databases, SessionStoreTest, ::testing::ValuesIn(DatabaseKinds()),
                         NameOfKind);

}  // namespace
}  // namespace attune
