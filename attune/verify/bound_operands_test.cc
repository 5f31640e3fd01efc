#include "attune/verify/bound_operands.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "attune/verify/heap_device.h"
#include "attune/verify/poison.h"

namespace attune {
namespace {

class BoundOperandsTest : public testing::Test {
 protected:
  void Bind(const char* text) {
    problem_ = *ParseProblem(text);
    data_ = std::make_unique<ProblemData>(*ProblemData::Create(problem_, 1));
    operands_ = std::make_unique<BoundOperands>(*BoundOperands::Create(device_, problem_, *data_));
  }
  std::byte* Operand(size_t i) {
    return static_cast<std::byte*>(operands_->arguments().operands[i].handle);
  }
  std::string RedzoneMessage() {
    const auto failure = *operands_->CheckRedzones();
    return failure.has_value() ? failure->message : "";
  }

  HeapDevice device_;
  Problem problem_;
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<BoundOperands> operands_;
};

TEST_F(BoundOperandsTest, InputsAreUploadedAndOutputsPoisoned) {
  Bind("gemm@1{m=5,n=6,k=7}");

  EXPECT_EQ(std::memcmp(Operand(0), data_->input(0).data(), data_->input(0).size()), 0);
  const std::vector<std::byte> output = *operands_->DownloadOutput();
  EXPECT_EQ(output.size(), 5 * 6 * sizeof(float));
  EXPECT_EQ(FindSpoiled(output), output.size());
  EXPECT_EQ(RedzoneMessage(), "");
  EXPECT_FALSE((*operands_->CheckInputs()).has_value());
}

TEST_F(BoundOperandsTest, InOutOperandStartsWithItsInitialContent) {
  Bind("gemm@1{m=5,n=6,k=7,beta=other,ldc=9}");

  EXPECT_EQ(std::memcmp(Operand(2), data_->input(2).data(), data_->input(2).size()), 0);
  EXPECT_EQ(operands_->arguments().beta, -0.75);
}

TEST_F(BoundOperandsTest, AlignmentIsWhatWasPromisedAndBelow64NoMore) {
  for (const int alignment : {4, 8, 16, 32, 64, 128, 4096}) {
    Bind(("gemm@1{m=5,n=6,k=7,align=" + std::to_string(alignment) + "}").c_str());
    for (size_t i = 0; i < 3; ++i) {
      const auto address = reinterpret_cast<uintptr_t>(Operand(i));
      EXPECT_EQ(address % static_cast<uintptr_t>(alignment), 0u) << alignment;
      if (alignment >= 64) continue;
      EXPECT_NE(address % static_cast<uintptr_t>(2 * alignment), 0u) << alignment;
    }
  }
}

TEST_F(BoundOperandsTest, OneByteOnEitherSideOfAnyOperandIsFound) {
  Bind("gemm@1{m=5,n=6,k=7}");
  const size_t sizes[] = {5 * 7 * 4, 7 * 6 * 4, 5 * 6 * 4};
  const std::string names[] = {"a", "b", "c"};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(operands_->Reset().ok());
    Operand(i)[sizes[i]] = std::byte{0};
    EXPECT_NE(RedzoneMessage().find("Wrote 1 bytes past the end of " + names[i]),
              std::string::npos);

    ASSERT_TRUE(operands_->Reset().ok());
    Operand(i)[-1] = std::byte{0};
    EXPECT_NE(RedzoneMessage().find("Wrote 1 bytes before the start of " + names[i]),
              std::string::npos);
  }
}

TEST_F(BoundOperandsTest, FarEndsOfTheRedZonesAreWatchedToo) {
  Bind("gemm@1{m=5,n=6,k=7}");

  Operand(2)[-static_cast<ptrdiff_t>(BoundOperands::kRedzoneBytes)] = std::byte{0};
  EXPECT_NE(RedzoneMessage(), "");
  ASSERT_TRUE(operands_->Reset().ok());
  Operand(2)[5 * 6 * 4 + BoundOperands::kRedzoneBytes - 1] = std::byte{0};
  EXPECT_NE(RedzoneMessage(), "");
}

TEST_F(BoundOperandsTest, ChangedInputIsFoundInItsGapsAsWell) {
  Bind("gemm@1{m=5,n=6,k=7,lda=8}");

  Operand(0)[5 * 4 + 1] = std::byte{0};  // Padding below the first column.
  const auto failure = *operands_->CheckInputs();

  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->kind, FailureKind::kOutOfBounds);
  EXPECT_NE(failure->message.find("Changed input a at byte 21"), std::string::npos);
}

TEST_F(BoundOperandsTest, WorkspaceHasRedZonesAndGrowsOnly) {
  Bind("gemm@1{m=5,n=6,k=7}");
  ASSERT_TRUE(operands_->ReserveWorkspace(1000).ok());
  auto* workspace = static_cast<std::byte*>(operands_->arguments().workspace.handle);
  ASSERT_TRUE(operands_->ReserveWorkspace(500).ok());

  EXPECT_EQ(operands_->arguments().workspace.handle, workspace);
  EXPECT_EQ(RedzoneMessage(), "");
  workspace[1000] = std::byte{0};
  EXPECT_NE(RedzoneMessage().find("past the end of the workspace"), std::string::npos);
}

TEST_F(BoundOperandsTest, DeviceThatIsFullIsReportedWithTheOperand) {
  problem_ = *ParseProblem("gemm@1{m=500,n=600,k=700}");
  data_ = std::make_unique<ProblemData>(*ProblemData::Create(problem_, 1));
  device_.set_limit_bytes(1'000'000);

  const Status status = BoundOperands::Create(device_, problem_, *data_).status();

  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("1400000 bytes for a"), std::string::npos);
}

TEST_F(BoundOperandsTest, OperandsLargerThanATransferBlockAreCheckedToTheEnd) {
  Bind("gemm@1{m=1200,n=1100,k=3}");  // C is 5 MB.

  EXPECT_EQ(FindSpoiled(*operands_->DownloadOutput()), 1200u * 1100 * 4);
  Operand(2)[1200 * 1100 * 4 + 7] = std::byte{0};
  EXPECT_NE(RedzoneMessage().find("Wrote 8 bytes past"), std::string::npos);
}

TEST_F(BoundOperandsTest, WhatIsKeptOnTheDeviceComesBackAndIsWatchedToo) {
  device_.set_has_memory(true);
  Bind("gemm@1{m=5,n=6,k=7,lda=9}");
  ASSERT_TRUE(operands_->KeepOnDevice().ok());
  EXPECT_FALSE((*operands_->CheckInputs()).has_value());

  Operand(0)[5 * 4] ^= std::byte{1};  // In a gap.
  const auto failure = *operands_->CheckInputs();
  ASSERT_TRUE(failure.has_value());
  EXPECT_NE(failure->message.find("Changed input a at byte 20"), std::string::npos)
      << failure->message;

  std::fill_n(Operand(2), 5 * 6 * 4, std::byte{0});
  ASSERT_TRUE(operands_->Reset().ok());
  EXPECT_EQ(std::memcmp(Operand(0), data_->input(0).data(), data_->input(0).size()), 0);
  const std::vector<std::byte> output = *operands_->DownloadOutput();
  EXPECT_EQ(FindSpoiled(output), output.size());
  EXPECT_EQ(RedzoneMessage(), "");
}

TEST_F(BoundOperandsTest, DeviceWithNoRoomForCopiesLeavesTheWorkToTheHost) {
  device_.set_has_memory(true);
  Bind("gemm@1{m=50,n=60,k=70}");
  device_.set_limit_bytes(1000);

  EXPECT_TRUE(operands_->KeepOnDevice().ok());

  const int calls = device_.memory_calls();
  EXPECT_TRUE(operands_->Reset().ok());
  EXPECT_FALSE((*operands_->CheckInputs()).has_value());
  EXPECT_EQ(device_.memory_calls(), calls);
}

}  // namespace
}  // namespace attune
