#include "attune/record/figure_store.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sql/figure_database.h"
#include "storage/sql/sql_store.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FigureStoreTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    store_ = FiguresIn(database_);
    MeasurementSet set;
    set.problem = *ParseProblem("gemm@1{m=4,n=5,k=6}");
    set.target = *ParseTarget("fake:Fake Processor:fake-v1:2{isa=none}");
    for (std::string* id : {&first_, &second_}) {
      *id = set.id = NewSetId();
      ASSERT_EQ(RecordsIn(database_)->BeginSet(set), Status::Ok());
    }
  }

  static TrialFigure Figure(double value) {
    return {{{"fake.x", 1}, {{"BLOCK", int64_t{4}}}},
            TrialRole::kFinal,
            {"rate of it", Direction::kMaximize, "µs"},
            {value, value - 1, value + 0.5, 0.99, 12}};
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<FigureStore> store_;
  std::string first_;
  std::string second_;
};

INSTANTIATE_TEST_SUITE_P(Databases, FigureStoreTest, ::testing::ValuesIn(DatabaseKinds()),
                         NameOfKind);

TEST_P(FigureStoreTest, WhatWasAppendedIsReadInItsOrder) {
  const TrialFigure two[] = {Figure(3), Figure(-0.25)};
  const TrialFigure other = Figure(7);
  ASSERT_EQ(store_->AppendFigures(first_, two), Status::Ok());
  ASSERT_EQ(store_->AppendFigures(second_, {&other, 1}), Status::Ok());
  ASSERT_EQ(store_->AppendFigures(first_, {&other, 1}), Status::Ok());

  EXPECT_THAT(store_->FiguresOf(first_).value(), ElementsAre(two[0], two[1], other));
  EXPECT_THAT(store_->FiguresOf(second_).value(), ElementsAre(other));
}

TEST_P(FigureStoreTest, ASetWithoutFiguresHasNone) {
  EXPECT_THAT(store_->FiguresOf(first_).value(), IsEmpty());
  EXPECT_THAT(store_->FiguresOf(NewSetId()).value(), IsEmpty());
}

TEST_P(FigureStoreTest, FiguresOfNoSetAreRefused) {
  const TrialFigure figure = Figure(3);

  EXPECT_EQ(store_->AppendFigures(NewSetId(), {&figure, 1}).code(), StatusCode::kNotFound);
}

TEST_P(FigureStoreTest, ImpossibleFiguresAreRefusedAndNothingOfThemIsKept) {
  TrialFigure figures[] = {Figure(3), Figure(4)};
  figures[1].figure.low = 5;

  EXPECT_EQ(store_->AppendFigures(first_, figures).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(store_->FiguresOf(first_).value(), IsEmpty());
}

TEST_P(FigureStoreTest, ALostFigureIsDataLoss) {
  const TrialFigure two[] = {Figure(3), Figure(4)};
  ASSERT_EQ(store_->AppendFigures(first_, two), Status::Ok());
  const auto connection = Connect();
  ASSERT_EQ(connection->Execute("DELETE FROM figure WHERE value = 4"), Status::Ok());

  const auto figures = store_->FiguresOf(first_);

  ASSERT_FALSE(figures.ok());
  EXPECT_EQ(figures.error().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace attune
