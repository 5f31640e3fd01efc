#include "attune/session/golden_store.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/session/golden_records.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GoldenEntry Entry(int64_t problem, const std::string& set_id, double median) {
  GoldenEntry entry;
  entry.problem = SampleProblem(problem);
  entry.target = SampleTarget();
  // Names of candidates have any length.
  entry.candidate = {{"host.a", 1}, {}};
  entry.set_id = set_id;
  entry.session = "may\n\xff";
  entry.median_ns = median;
  entry.low_ns = median * 0.9;
  entry.high_ns = median * 1.1;
  entry.reason = GoldenReason::kFaster;
  entry.added_by = "me@here";
  entry.added_unix_ns = 42;
  return entry;
}

class GoldenStoreTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    golden_ = GoldenIn(database_);
  }

  GoldenVersion Make(const std::string& name, const std::string& base = "") {
    const auto made = golden_->Create(name, base, "me@here");
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *made;
  }
  std::vector<std::string> Sets(const GoldenVersion& version) {
    std::vector<std::string> sets;
    const auto entries = golden_->Entries(version.id);
    EXPECT_TRUE(entries.ok()) << entries.status().message();
    for (const GoldenEntry& entry : *entries) sets.push_back(entry.set_id);
    return sets;
  }
  Status Add(const GoldenVersion& version, const GoldenEntry& entry) {
    const auto entries = *golden_->Entries(version.id);
    return golden_->Add(version.id, std::vector{entry}, entries.empty() ? 0 : entries.back().id);
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<GoldenStore> golden_;
  Random random_{3};
};

TEST_P(GoldenStoreTest, AnEntryIsReadBackAsItWasAdded) {
  const GoldenVersion first = Make("1");
  GoldenEntry entry = Entry(1, "s", 100);
  entry.candidate.config = *ParseConfig("name=" + std::string(5000, 'x'));
  ASSERT_EQ(Add(first, entry), Status::Ok());
  const auto entries = *GoldenIn(Open())->Entries(first.id);
  ASSERT_EQ(entries.size(), 1u);
  entry.id = entries[0].id;
  EXPECT_EQ(entries[0], entry);
}

TEST_P(GoldenStoreTest, ABaseIsNeededOnceThereIsAVersion) {
  const GoldenVersion first = Make("1");
  EXPECT_EQ(golden_->Create("2", "", "me").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(golden_->Create("2", "0", "me").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(golden_->Create("1", "", "me").status().code(), StatusCode::kFailedPrecondition);
  const Status draft = golden_->Create("2", "1", "me").status();
  EXPECT_EQ(draft.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(draft.message(), HasSubstr("'attune golden approve 1' makes it a base"));
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());
  EXPECT_EQ(Make("2", "1").base, "1");
  EXPECT_EQ(golden_->Find("2")->base, "1");
}

TEST_P(GoldenStoreTest, WhatIsApprovedNeverChanges) {
  const GoldenVersion first = Make("1");
  EXPECT_EQ(golden_->Approve(first.id, "me").code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());
  const GoldenVersion approved = *golden_->Find("1");
  EXPECT_EQ(approved.approved_by, "me");
  EXPECT_EQ(Add(first, Entry(2, "b", 100)).code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(golden_->Approve(first.id, "somebody else"), Status::Ok());
  EXPECT_EQ(*golden_->Find("1"), approved);
  EXPECT_THAT(Sets(first), ElementsAre("a"));
}

TEST_P(GoldenStoreTest, ALaterEntryHasTheWordAndTheEarlierStays) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(Add(first, Entry(2, "b", 100)), Status::Ok());
  ASSERT_EQ(Add(first, Entry(1, "c", 80)), Status::Ok());
  EXPECT_THAT(Sets(first), ElementsAre("b", "c"));
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());

  const GoldenVersion second = Make("2", "1");
  EXPECT_THAT(Sets(second), ElementsAre("b", "c"));
  ASSERT_EQ(Add(second, Entry(2, "d", 70)), Status::Ok());
  EXPECT_THAT(Sets(second), ElementsAre("c", "d"));
  EXPECT_THAT(Sets(first), ElementsAre("b", "c"));
}

TEST_P(GoldenStoreTest, EachStateOfCachesHasAnEntryOfItsOwn) {
  const auto records = RecordsIn(database_);
  std::vector<MeasurementSet> sets;
  for (const CacheState cache : {CacheState::kWarm, CacheState::kCold, CacheState::kWarm}) {
    sets.push_back(SampleSet(1, std::ssize(sets), random_));
    sets.back().cache = cache;
    ASSERT_EQ(records->BeginSet(sets.back()), Status::Ok());
  }
  const GoldenVersion first = Make("1");
  for (const MeasurementSet& set : sets) ASSERT_EQ(Add(first, Entry(1, set.id, 9)), Status::Ok());

  const auto entries = *golden_->Entries(first.id);

  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].set_id, sets[1].id);
  EXPECT_EQ(entries[0].cache, CacheState::kCold);
  EXPECT_EQ(entries[1].set_id, sets[2].id);
  EXPECT_EQ(entries[1].cache, CacheState::kWarm);
}

TEST_P(GoldenStoreTest, OneThatWasRolledBackIsNoBaseAndStaysReadable) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());
  ASSERT_EQ(golden_->Withdraw(first.id, "me", "slower in June"), Status::Ok());
  EXPECT_EQ(golden_->Find("1")->withdrawn_because, "slower in June");
  EXPECT_EQ(golden_->Create("2", "1", "me").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Sets(first), ElementsAre("a"));
  EXPECT_EQ(Make("2").base, "");
}

TEST_P(GoldenStoreTest, WhatBeginsFromOneThatWasRolledBackIsNotApproved) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());
  const GoldenVersion second = Make("2", "1");
  ASSERT_EQ(golden_->Withdraw(first.id, "me", "wrong driver"), Status::Ok());
  const Status refused = golden_->Approve(second.id, "me");
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("'1', which it begins from, was rolled back (wrong "
                                           "driver)."));
}

TEST_P(GoldenStoreTest, WhatWasApprovedIsNotApprovedAgainOnceItIsRolledBack) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());
  const GoldenVersion second = Make("2", "1");
  ASSERT_EQ(golden_->Approve(second.id, "me"), Status::Ok());
  ASSERT_EQ(golden_->Withdraw(first.id, "me", "wrong driver"), Status::Ok());

  EXPECT_THAT(golden_->Approve(first.id, "me").message(),
              HasSubstr("cannot be approved: it was rolled back (wrong driver)."));
  EXPECT_THAT(golden_->Approve(second.id, "me").message(),
              HasSubstr("'1', which it begins from, was rolled back (wrong driver)."));
}

TEST_P(GoldenStoreTest, TheFirstReasonOfARollbackStays) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(golden_->Withdraw(first.id, "me", "wrong driver"), Status::Ok());

  const Status refused = golden_->Withdraw(first.id, "you", "another reason");

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("rolled back already"));
  EXPECT_THAT(refused.message(), HasSubstr("by me (wrong driver)"));
  EXPECT_EQ(golden_->Find("1")->withdrawn_because, "wrong driver");
}

TEST_P(GoldenStoreTest, WhatBeginsFromOneThatWasRolledBackTakesNothing) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());
  const GoldenVersion second = Make("2", "1");
  ASSERT_EQ(golden_->Withdraw(first.id, "me", "wrong driver"), Status::Ok());

  const Status refused = Add(second, Entry(2, "b", 100));

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("wrong driver"));
  EXPECT_THAT(refused.message(), HasSubstr("'attune golden create NAME' begins anew"));
  EXPECT_THAT(Sets(second), ElementsAre("a"));
  // The message says that no base is left, so a new version needs none.
  EXPECT_EQ(Make("3").base, "");
}

TEST_P(GoldenStoreTest, NothingBeginsFromWhatCanNeverBeApproved) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Approve(first.id, "me"), Status::Ok());
  const GoldenVersion second = Make("2", "1");
  ASSERT_EQ(golden_->Approve(second.id, "me"), Status::Ok());
  const GoldenVersion third = Make("3", "2");
  ASSERT_EQ(golden_->Approve(third.id, "me"), Status::Ok());
  ASSERT_EQ(golden_->Withdraw(second.id, "me", "wrong driver"), Status::Ok());

  const Status refused = golden_->Create("4", "3", "me").status();

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(),
              HasSubstr("'3' is no base: '2', which it begins from, was rolled"));
  EXPECT_THAT(refused.message(), HasSubstr("'attune golden create NAME --base 1'"));
  EXPECT_THAT(golden_->Create("4", "", "me").status().message(), HasSubstr("--base 1'"));
  EXPECT_EQ(Make("4", "1").base, "1");
}

TEST_P(GoldenStoreTest, ADraftCanBeRolledBackAndBegunAnew) {
  const GoldenVersion draft = Make("1");
  ASSERT_EQ(Add(draft, Entry(1, "a", 100)), Status::Ok());
  ASSERT_EQ(golden_->Withdraw(draft.id, "me", "a mistake"), Status::Ok());
  EXPECT_EQ(Make("2").base, "");
}

TEST_P(GoldenStoreTest, WhoDidNotSeeWhatStandsAddsNothing) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(golden_->Add(first.id, std::vector{Entry(1, "a", 100)}, 0), Status::Ok());
  EXPECT_EQ(golden_->Add(first.id, std::vector{Entry(1, "b", 200)}, 0).code(),
            StatusCode::kUnavailable);
  EXPECT_THAT(Sets(first), ElementsAre("a"));
}

TEST_P(GoldenStoreTest, ImpossibleTimesAreRefused) {
  const GoldenVersion first = Make("1");
  for (const double time : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(Add(first, Entry(1, "a", time)).code(), StatusCode::kInvalidArgument) << time;
  }
  EXPECT_THAT(Sets(first), IsEmpty());
}

TEST_P(GoldenStoreTest, EntriesThatAreGoneAreMissed) {
  const GoldenVersion first = Make("1");
  ASSERT_EQ(Add(first, Entry(1, "a", 100)), Status::Ok());
  {
    auto connection = Connect();
    ASSERT_EQ(connection->BeginWrite(), Status::Ok());
    ASSERT_EQ(connection->Execute("DELETE FROM golden_entry"), Status::Ok());
    ASSERT_EQ(connection->Commit(), Status::Ok());
  }
  EXPECT_EQ(golden_->Entries(first.id).status().code(), StatusCode::kDataLoss);
}

TEST_P(GoldenStoreTest, ItsRecordsAreTheSetsOfItsEntries) {
  const auto records = RecordsIn(database_);
  const MeasurementSet in_it = SampleSet(1, 1, random_);
  ASSERT_EQ(records->BeginSet(in_it), Status::Ok());
  ASSERT_EQ(records->BeginSet(SampleSet(1, 2, random_)), Status::Ok());
  ASSERT_EQ(records->BeginSet(SampleSet(2, 3, random_)), Status::Ok());
  const auto view = RecordsOf(std::vector{Entry(1, in_it.id, 100)}, *records);
  const auto sets = *Collected(*view);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].set, in_it);
  EXPECT_EQ(view->Problems("")->size(), 1u);
  EXPECT_EQ(view->BeginSet(in_it).code(), StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Databases, GoldenStoreTest, ::testing::ValuesIn(DatabaseKinds()),
                         NameOfKind);

}  // namespace
}  // namespace attune
