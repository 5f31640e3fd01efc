#include "attune/verify/verifier.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/element.h"
#include "attune/verify/heap_device.h"

namespace attune {
namespace {

// With operands that the host fills and checks, and with those that the device does (true).
class VerifierTest : public testing::TestWithParam<bool> {
 protected:
  VerifierTest() { device_.set_has_memory(GetParam()); }
  ~VerifierTest() override { EXPECT_EQ(device_.memory_calls() > 0, GetParam()); }

  void Bind(const std::string& text) {
    problem_ = *ParseProblem(text);
    data_ = std::make_unique<ProblemData>(*ProblemData::Create(problem_, 1));
    operands_ = std::make_unique<BoundOperands>(*BoundOperands::Create(device_, problem_, *data_));
  }

  // Writes the right answer where there are elements.
  Status Answer(const Arguments& arguments) const {
    const DataType type = OutputType(problem_);
    auto* output = static_cast<std::byte*>(arguments.operands.back().handle);
    for (size_t i = 0; i < data_->reference().size(); ++i) {
      if (std::isnan(data_->reference()[i])) continue;
      Encode(type, data_->reference()[i], output + i * SizeBytes(type));
    }
    return Status::Ok();
  }

  // The verdict on a candidate that gives the right answer and then does `mischief`.
  Verdict VerdictOn(const std::function<void(const Arguments&)>& mischief) {
    FunctionExecutable executable([&](const Arguments& arguments) {
      const Status status = Answer(arguments);
      mischief(arguments);
      return status;
    });
    return Verify(executable, device_, *operands_, *data_, problem_);
  }

  static float* Output(const Arguments& arguments) {
    return static_cast<float*>(arguments.operands.back().handle);
  }

  HeapDevice device_;
  Problem problem_;
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<BoundOperands> operands_;
};

TEST_P(VerifierTest, RightAnswerPassesForEveryTypeAndWithPadding) {
  for (const char* text : {"gemm@1{m=5,n=6,k=7}", "gemm@1{m=5,n=6,k=7,type=f64}",
                           "gemm@1{m=5,n=6,k=7,type=bf16,ldc=9}",
                           "gemm@1{m=5,n=6,k=7,type=f16,ctype=f16,batch=3,ldc=7,beta=other}",
                           "conv@1{dir=bwd_data,n=1,c=3,h=5,w=5,k=4,fh=3,fw=3,layout=nhwc}"}) {
    Bind(text);

    const Verdict verdict = VerdictOn([](const Arguments&) {});

    EXPECT_FALSE(verdict.failure.has_value()) << text << ": " << verdict.failure->message;
    EXPECT_LE(verdict.max_error, 1) << text;
  }
}

TEST_P(VerifierTest, OneWrongElementIsNamedWithBothValues) {
  Bind("gemm@1{m=5,n=6,k=7}");

  const Verdict verdict =
      VerdictOn([](const Arguments& arguments) { Output(arguments)[2 + 3 * 5] += 0.5f; });

  ASSERT_TRUE(verdict.failure.has_value());
  EXPECT_EQ(verdict.failure->kind, FailureKind::kWrongResult);
  EXPECT_EQ(verdict.failure->phase, Phase::kVerify);
  EXPECT_NE(verdict.failure->message.find("1 of 30 elements of c are wrong"), std::string::npos);
  EXPECT_NE(verdict.failure->message.find("c(0, 2, 3)"), std::string::npos);
  EXPECT_GT(verdict.max_error, 1);
}

TEST_P(VerifierTest, ElementLeftPoisonedOrNanOrInfiniteIsWrong) {
  Bind("gemm@1{m=5,n=6,k=7}");
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Verdict verdict =
        VerdictOn([&](const Arguments& arguments) { Output(arguments)[29] = value; });
    ASSERT_TRUE(verdict.failure.has_value());
    EXPECT_EQ(verdict.failure->kind, FailureKind::kWrongResult);
    EXPECT_TRUE(std::isinf(verdict.max_error));
  }
  FunctionExecutable idle([](const Arguments&) { return Status::Ok(); });
  const Verdict verdict = Verify(idle, device_, *operands_, *data_, problem_);
  ASSERT_TRUE(verdict.failure.has_value());
  EXPECT_NE(verdict.failure->message.find("30 of 30"), std::string::npos);
}

TEST_P(VerifierTest, ResultOfAnEarlierCandidateIsNotMistakenForThisOne) {
  Bind("gemm@1{m=5,n=6,k=7}");
  ASSERT_FALSE(VerdictOn([](const Arguments&) {}).failure.has_value());
  FunctionExecutable idle([](const Arguments&) { return Status::Ok(); });

  EXPECT_TRUE(Verify(idle, device_, *operands_, *data_, problem_).failure.has_value());
}

TEST_P(VerifierTest, WriteIntoPaddingIsOutOfBounds) {
  Bind("gemm@1{m=5,n=6,k=7,ldc=8}");

  const Verdict verdict = VerdictOn([](const Arguments& arguments) { Output(arguments)[6] = 0; });

  ASSERT_TRUE(verdict.failure.has_value());
  EXPECT_EQ(verdict.failure->kind, FailureKind::kOutOfBounds);
  EXPECT_NE(verdict.failure->message.find("padding of c, at element offset 6"), std::string::npos);
}

TEST_P(VerifierTest, OutOfBoundsIsReportedRatherThanTheWrongResultThatCameWithIt) {
  Bind("gemm@1{m=5,n=6,k=7}");

  const Verdict verdict = VerdictOn([](const Arguments& arguments) {
    Output(arguments)[0] = 100;
    Output(arguments)[30] = 0;
  });

  ASSERT_TRUE(verdict.failure.has_value());
  EXPECT_EQ(verdict.failure->kind, FailureKind::kOutOfBounds);
}

TEST_P(VerifierTest, ChangedInputIsOutOfBounds) {
  Bind("gemm@1{m=5,n=6,k=7}");

  const Verdict verdict = VerdictOn(
      [](const Arguments& arguments) { static_cast<float*>(arguments.operands[1].handle)[3] = 0; });

  ASSERT_TRUE(verdict.failure.has_value());
  EXPECT_NE(verdict.failure->message.find("Changed input b"), std::string::npos);
}

TEST_P(VerifierTest, LaunchErrorAndLackOfMemoryAreToldApart) {
  Bind("gemm@1{m=5,n=6,k=7}");
  FunctionExecutable fails([](const Arguments&) { return Internal("Bad launch."); });
  FunctionExecutable hungry([](const Arguments&) { return Status::Ok(); }, size_t{1} << 42);

  const Verdict failed = Verify(fails, device_, *operands_, *data_, problem_);
  const Verdict starved = Verify(hungry, device_, *operands_, *data_, problem_);

  EXPECT_EQ(failed.failure, (Failure{FailureKind::kRunFailed, Phase::kRun, "Bad launch."}));
  EXPECT_EQ(starved.failure->kind, FailureKind::kOutOfMemory);
}

TEST_P(VerifierTest, WorkspaceHoldsNanWhenTheCandidateGetsIt) {
  Bind("gemm@1{m=5,n=6,k=7}");
  bool is_nan = false;
  FunctionExecutable executable(
      [&](const Arguments& arguments) {
        is_nan = std::isnan(static_cast<float*>(arguments.workspace.handle)[10]);
        return Answer(arguments);
      },
      64);

  EXPECT_FALSE(Verify(executable, device_, *operands_, *data_, problem_).failure.has_value());
  EXPECT_TRUE(is_nan);
}

TEST_P(VerifierTest, TwoRunsMustAgreeBitForBitOnlyIfTheProblemAsksForIt) {
  for (const bool asked : {true, false}) {
    Bind(asked ? "gemm@1{m=5,n=6,k=7,det=1}" : "gemm@1{m=5,n=6,k=7}");
    int runs = 0;

    const Verdict verdict = VerdictOn([&](const Arguments& arguments) {
      float& element = Output(arguments)[4];
      if (++runs == 2) element = std::nextafter(element, 2.0f);
    });

    EXPECT_EQ(verdict.failure.has_value(), asked);
    EXPECT_EQ(runs, asked ? 2 : 1);
  }
}

INSTANTIATE_TEST_SUITE_P(HostAndDevice, VerifierTest, testing::Bool());

}  // namespace
}  // namespace attune
