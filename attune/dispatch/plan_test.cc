// What a plan asks of the queues of calls.
#include "attune/dispatch/plan.h"

#include <memory>

#include <gtest/gtest.h>

#include "attune/dispatch/test_solvers.h"

namespace attune {
namespace {

class QuietExecutable final : public Executable {
 public:
  QuietExecutable(size_t workspace_bytes, bool is_needed_by_graphs)
      : workspace_bytes_(workspace_bytes), is_needed_by_graphs_(is_needed_by_graphs) {}
  size_t workspace_bytes() const override { return workspace_bytes_; }
  bool is_needed_by_graphs() const override { return is_needed_by_graphs_; }
  Status Run(const Arguments&) override { return Status::Ok(); }

 private:
  const size_t workspace_bytes_;
  const bool is_needed_by_graphs_;
};

Plan PlanOf(size_t workspace_bytes, bool is_needed_by_graphs, bool fails_capture = false) {
  Option option;
  option.fails_capture = fails_capture;
  return Plan(ProductOf(1, 1, 1), 1024, option,
              std::make_unique<QuietExecutable>(workspace_bytes, is_needed_by_graphs));
}

TEST(PlanTest, WhatLeavesNothingInGraphsAsksNoQueue) {
  EXPECT_FALSE(PlanOf(0, false).asks_queues(false));
  EXPECT_FALSE(PlanOf(0, false).asks_queues(true));
}

TEST(PlanTest, WhoeverGetsAWorkspaceOfTheRunTimeAsksWhoseItIs) {
  EXPECT_TRUE(PlanOf(64, false).asks_queues(false));
  EXPECT_FALSE(PlanOf(64, false).asks_queues(true));
}

TEST(PlanTest, WhatAGraphNeedsAsksWhetherThereIsOne) {
  EXPECT_TRUE(PlanOf(0, true).asks_queues(true));
}

TEST(PlanTest, WhatNoGraphCanHoldAsksWhetherThereIsOne) {
  EXPECT_TRUE(PlanOf(0, false, true).asks_queues(true));
}

TEST(PlanTest, AFailureAsks) {
  EXPECT_TRUE(Plan(ProductOf(1, 1, 1), 0, Internal("Broken.")).asks_queues(true));
}

}  // namespace
}  // namespace attune
