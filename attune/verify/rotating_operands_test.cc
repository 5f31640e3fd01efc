#include "attune/verify/rotating_operands.h"

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "attune/verify/heap_device.h"

namespace attune {
namespace {

constexpr size_t kNoLimit = size_t{1} << 40;

class RotatingOperandsTest : public testing::Test {
 protected:
  void Rotate(const std::string& text, int64_t budget_bytes) {
    problem_ = *ParseProblem(text);
    data_ = std::make_unique<ProblemData>(*ProblemData::Create(problem_, 1));
    bound_ = std::make_unique<BoundOperands>(*BoundOperands::Create(device_, problem_, *data_));
    auto rotating = RotatingOperands::Create(device_, problem_, *bound_, budget_bytes, kNoLimit);
    ASSERT_TRUE(rotating.ok()) << rotating.status().message();
    rotating_ = std::make_unique<RotatingOperands>(std::move(*rotating));
  }

  static std::byte* Address(const Arguments& arguments, size_t i) {
    return static_cast<std::byte*>(arguments.operands[i].handle) +
           arguments.operands[i].offset_bytes;
  }

  // Returns true if operand `i` of both holds the same bytes, gaps included.
  bool AreEqual(const Arguments& a, const Arguments& b, size_t i) const {
    const size_t size_bytes = SpanBytes(Operands(problem_)[i].tensor);
    return std::memcmp(Address(a, i), Address(b, i), size_bytes) == 0;
  }

  HeapDevice device_;
  Problem problem_;
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<BoundOperands> bound_;
  std::unique_ptr<RotatingOperands> rotating_;
};

// Bytes that no two operands of any copy may share.
class ClaimedMemory {
 public:
  bool Claim(const std::byte* begin, size_t size_bytes) {
    const auto next = claimed_.upper_bound(begin);
    if (next != claimed_.end() && next->first < begin + size_bytes) return false;
    if (next != claimed_.begin() && std::prev(next)->second > begin) return false;
    claimed_.emplace(begin, begin + size_bytes);
    return true;
  }

 private:
  std::map<const std::byte*, const std::byte*> claimed_;
};

TEST_F(RotatingOperandsTest, CopiesAreDistinctAndHoldWhatTheFirstOperandsHold) {
  // Packed, transposed, shared, padded, strided, read and written, and with a bias.
  for (const char* form : {"", ",ta=t,tb=t", ",sa=0", ",lda=9,ldb=8,ldc=7", ",sa=100,sb=90,sc=80",
                           ",beta=other,ldc=11", ",bias=row"}) {
    Rotate(std::string("gemm@1{m=4,n=3,k=5,batch=3") + form + "}", 16384);
    const Arguments first = bound_->arguments();
    ClaimedMemory memory;
    ASSERT_GT(rotating_->copies(), 2u) << form;

    for (size_t copy = 0; copy < rotating_->copies(); ++copy) {
      const Arguments next = rotating_->Next(first);
      ASSERT_EQ(next.operands.size(), first.operands.size());
      for (size_t i = 0; i < next.operands.size(); ++i) {
        EXPECT_TRUE(AreEqual(next, first, i)) << form << " copy " << copy << " operand " << i;
        EXPECT_TRUE(memory.Claim(Address(next, i), SpanBytes(Operands(problem_)[i].tensor)))
            << form << " copy " << copy << " operand " << i;
      }
      EXPECT_EQ(next.alpha, first.alpha);
      EXPECT_EQ(next.beta, first.beta);
    }
  }
}

TEST_F(RotatingOperandsTest, TheCopiesExceedTheBudgetTogether) {
  constexpr int64_t kBudgetBytes = 100'000;
  Rotate("gemm@1{m=16,n=16,k=16}", kBudgetBytes);

  EXPECT_GT(static_cast<int64_t>(rotating_->copies()) * 3 * 16 * 16 * 4, kBudgetBytes);
}

TEST_F(RotatingOperandsTest, LaunchesUseAllCopiesInTurnWhoeverLaunches) {
  Rotate("gemm@1{m=16,n=16,k=16}", 20'000);
  std::map<const std::byte*, int> uses;
  FunctionExecutable counting(
      [&](const Arguments& arguments) {
        ++uses[Address(arguments, 0)];
        return Status::Ok();
      },
      0);
  const size_t copies = rotating_->copies();

  for (size_t launch = 0; launch < 3 * copies; ++launch) {
    RotatingExecutable one_of_many(counting, *rotating_);
    ASSERT_TRUE(one_of_many.Run(bound_->arguments()).ok());
  }

  EXPECT_EQ(uses.size(), copies);
  for (const auto& [address, count] : uses) EXPECT_EQ(count, 3);
  EXPECT_FALSE(uses.contains(Address(bound_->arguments(), 0)));
}

TEST_F(RotatingOperandsTest, NoCopyIsBetterAlignedThanWasPromised) {
  for (const int alignment : {4, 8, 16, 32, 64, 128, 4096}) {
    Rotate("gemm@1{m=5,n=6,k=7,align=" + std::to_string(alignment) + "}", 50'000);
    for (size_t copy = 0; copy < rotating_->copies(); ++copy) {
      const Arguments next = rotating_->Next(bound_->arguments());
      for (size_t i = 0; i < next.operands.size(); ++i) {
        const auto address = reinterpret_cast<uintptr_t>(Address(next, i));
        EXPECT_EQ(address % static_cast<uintptr_t>(alignment), 0u);
        const bool is_better = address % static_cast<uintptr_t>(2 * alignment) == 0;
        EXPECT_FALSE(alignment < 64 && is_better);
      }
    }
  }
}

TEST_F(RotatingOperandsTest, NoMemoryForCopiesIsSaidWithTheirSize) {
  Rotate("gemm@1{m=16,n=16,k=16}", 1000);
  device_.set_limit_bytes(10'000);

  const auto refused =
      RotatingOperands::Create(device_, problem_, *bound_, int64_t{1} << 20, kNoLimit);

  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("copies of the operands"), std::string::npos);
}

}  // namespace
}  // namespace attune
