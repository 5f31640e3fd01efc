// References from another maker than the processor.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/verify/heap_device.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_on_device.h"

namespace attune {
namespace {

// Runs a function of the test.
class StandInMaker final : public ReferenceMaker {
 public:
  using Work = std::function<Status(const Problem&, int, const std::function<bool()>&)>;
  explicit StandInMaker(Work work) : work_(std::move(work)) {}

  Status Make(const Problem& problem, int data_fd, const std::function<bool()>& go_on) override {
    ++asked_;
    return work_(problem, data_fd, go_on);
  }
  void Distrust(const Status& reason) override { distrust_ = reason; }

  int asked() const { return asked_; }
  const Status& distrust() const { return distrust_; }

 private:
  const Work work_;
  int asked_ = 0;
  Status distrust_;
};

class MadeReferenceTest : public testing::Test {
 protected:
  const Problem problem_ = *ParseProblem("gemm@1{m=13,n=7,k=9,lda=16,ldc=15,beta=other}");
  const ProblemData right_ = *ProblemData::Create(problem_, 4);

  // A maker that writes correct values plus `error`.
  StandInMaker::Work Writing(double error) {
    return [this, error](const Problem& problem, int fd, const std::function<bool()>&) {
      auto draft = ReferenceDraft::Map(problem, fd);
      EXPECT_TRUE(draft.ok()) << draft.status().message();
      for (size_t i = 0; i < right_.reference().size(); ++i) {
        EXPECT_TRUE(std::isnan(draft->reference()[i]));
        draft->reference()[i] = right_.reference()[i] + error;
      }
      return Status::Ok();
    };
  }

  void ExpectRight(const Result<ProblemData>& data) const {
    ASSERT_TRUE(data.ok()) << data.status().message();
    for (size_t i = 0; i < right_.reference().size(); ++i) {
      const double value = data->reference()[i];
      const double expected = right_.reference()[i];
      EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << i;
    }
  }
};

TEST_F(MadeReferenceTest, WhatIsRightIsTakenAndSealed) {
  StandInMaker maker(Writing(0));

  const auto data = ProblemData::Create(problem_, 4, {{}, &maker});

  ExpectRight(data);
  EXPECT_EQ(maker.asked(), 1);
  EXPECT_TRUE(maker.distrust().ok());
  EXPECT_EQ(ReferenceDraft::Map(problem_, data->fd()).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(MadeReferenceTest, WhatIsWrongIsFoundOutAndComputedHere) {
  StandInMaker maker(Writing(1e-9));

  const auto data = ProblemData::Create(problem_, 4, {{}, &maker});

  ExpectRight(data);
  EXPECT_EQ(maker.distrust().code(), StatusCode::kDataLoss);
}

TEST_F(MadeReferenceTest, WhoWritesNothingOrGivesUpHalfwayIsReplacedByTheProcessor) {
  StandInMaker idle([](const auto&, int, const auto&) { return Status::Ok(); });
  StandInMaker failing([this](const Problem& problem, int fd, const auto&) {
    auto draft = ReferenceDraft::Map(problem_, fd);
    draft->reference().front() = 17;
    draft->reference().back() = 17;
    draft->reference()[13] = 17;  // A gap.
    (void)problem;
    return Unavailable("The device burns.");
  });

  ExpectRight(ProblemData::Create(problem_, 4, {{}, &idle}));
  ExpectRight(ProblemData::Create(problem_, 4, {{}, &failing}));

  EXPECT_FALSE(idle.distrust().ok());
  EXPECT_TRUE(failing.distrust().ok());
}

TEST_F(MadeReferenceTest, WhoIsStoppedMeanwhileComputesNothingMore) {
  bool is_asked_to_stop = false;
  StandInMaker maker([&](const auto&, int, const std::function<bool()>& go_on) {
    is_asked_to_stop = true;
    EXPECT_FALSE(go_on());
    return Unavailable("Stopped.");
  });
  const auto go_on = [&](double done) {
    EXPECT_EQ(done, 0);
    return !is_asked_to_stop;
  };

  const Status status = ProblemData::Create(problem_, 4, {go_on, &maker}).status();

  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(MadeReferenceTest, DataOfAnotherProblemAreNoDraft) {
  StandInMaker maker([](const auto&, int fd, const auto&) {
    const Problem other = *ParseProblem("gemm@1{m=13,n=7,k=9,lda=16,ldc=16,beta=other}");
    EXPECT_EQ(ReferenceDraft::Map(other, fd).status().code(), StatusCode::kDataLoss);
    return Unavailable("It was another problem.");
  });

  ExpectRight(ProblemData::Create(problem_, 4, {{}, &maker}));
}

// Writes 2, 3, 4, ... into every element, and keeps its arguments.
class CountingExecutable final : public Executable {
 public:
  size_t workspace_bytes() const override { return 100; }
  Status Run(const Arguments& arguments) override {
    operands_.assign(arguments.operands.begin(), arguments.operands.end());
    beta_ = arguments.beta;
    EXPECT_NE(arguments.workspace.handle, nullptr);
    auto* const reference = static_cast<double*>(operands_.back().handle);
    double next = 2;
    for (size_t column = 0; column < 7; ++column) {
      for (size_t row = 0; row < 13; ++row) reference[column * 15 + row] = next++;
    }
    return Status::Ok();
  }

  std::vector<BufferView> operands_;
  double beta_ = 0;
};

TEST_F(MadeReferenceTest, ADeviceGetsInputsAndScalarsAndLeavesGaps) {
  HeapDevice device;
  CountingExecutable executable;
  std::vector<double> written;
  StandInMaker maker([&](const Problem& problem, int fd, const auto&) {
    auto draft = ReferenceDraft::Map(problem, fd);
    EXPECT_TRUE(ComputeReferenceOn(device, executable, problem, *draft).ok());
    written.assign(draft->reference().begin(), draft->reference().end());
    return Status::Ok();
  });

  ExpectRight(ProblemData::Create(problem_, 4, {{}, &maker}));

  ASSERT_EQ(executable.operands_.size(), Operands(problem_).size() + 1);
  EXPECT_EQ(executable.beta_, right_.beta());
  ASSERT_EQ(written.size(), right_.reference().size());
  double next = 2;
  for (size_t i = 0; i < written.size(); ++i) {
    if (std::isnan(right_.reference()[i])) {
      EXPECT_TRUE(std::isnan(written[i])) << i;
    } else {
      EXPECT_EQ(written[i], next++) << i;
    }
  }
}

}  // namespace
}  // namespace attune
