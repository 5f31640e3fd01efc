// The verifier's work on a GPU's memory against the same on the host: label `gpu`.
#include "backends/cuda/driver/cuda_memory.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/element.h"
#include "attune/base/random.h"
#include "attune/verify/output_comparison.h"
#include "attune/verify/poison.h"
#include "backends/cuda/driver/cuda_device_test.h"

namespace attune::cuda {
namespace {

class CudaMemoryTest : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped()) return;
    memory_ = device_->memory_operations();
    ASSERT_NE(memory_, nullptr);
  }

  std::unique_ptr<Buffer> Uploaded(std::span<const std::byte> content) {
    auto buffer = device_->Allocate(content.size());
    EXPECT_TRUE(buffer.ok() && device_->Upload(content, (*buffer)->View(0)).ok());
    return std::move(*buffer);
  }

  static std::vector<std::byte> RandomBytes(size_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    Random random(size_bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
    return bytes;
  }

  MemoryOperations* memory_ = nullptr;
};

TEST_F(CudaMemoryTest, FillsEvenAndOddSizesAndPlacesAndNothingElse) {
  for (const size_t size_bytes : {0u, 1u, 2u, 7u, 100'000u, 100'001u}) {
    for (const size_t place : {4u, 5u}) {
      const std::vector<std::byte> before = RandomBytes(size_bytes + 8);
      const auto buffer = Uploaded(before);

      ASSERT_TRUE(memory_->Fill(buffer->View(place), size_bytes, kPoisonWord).ok());

      std::vector<std::byte> after(before.size());
      ASSERT_TRUE(device_->Download(buffer->View(0), after).ok());
      std::vector<std::byte> expected = before;
      FillWithPoison(std::span(expected).subspan(place, size_bytes));
      EXPECT_EQ(after, expected) << size_bytes << " from " << place;
    }
  }
}

TEST_F(CudaMemoryTest, CopiesWhatWasAskedFor) {
  const std::vector<std::byte> content = RandomBytes(10'007);
  const auto from = Uploaded(content);
  const auto to = Uploaded(std::vector<std::byte>(content.size()));

  ASSERT_TRUE(memory_->Copy(from->View(3), to->View(5), 9'999).ok());

  std::vector<std::byte> after(content.size());
  ASSERT_TRUE(device_->Download(to->View(0), after).ok());
  std::vector<std::byte> expected(content.size());
  std::copy_n(content.begin() + 3, 9'999, expected.begin() + 5);
  EXPECT_EQ(after, expected);
}

TEST_F(CudaMemoryTest, OneChangedBitAndTwoExchangedWordsChangeTheFingerprint) {
  for (const size_t size_bytes : {1u, 2u, 33u, 1'000'001u}) {
    std::vector<std::byte> content = RandomBytes(size_bytes);
    const auto fingerprint = [&] {
      const auto buffer = Uploaded(content);
      return *memory_->Fingerprint(buffer->View(0), content.size());
    };
    const uint64_t first = fingerprint();
    EXPECT_EQ(fingerprint(), first);
    for (const size_t at : {size_t{0}, size_bytes / 2, size_bytes - 1}) {
      content[at] ^= std::byte{1};
      EXPECT_NE(fingerprint(), first) << at << " of " << size_bytes;
      content[at] ^= std::byte{1};
    }
    if (size_bytes < 33) continue;
    std::swap_ranges(content.begin(), content.begin() + 2, content.begin() + 16);
    EXPECT_NE(fingerprint(), first);
  }
}

TEST_F(CudaMemoryTest, ComparesAsTheHostDoes) {
  constexpr size_t kElements = 300'007;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const DataType type : {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kBf16}) {
    const size_t element_bytes = SizeBytes(type);
    // Right but for rounding; every 11th is a gap.
    std::vector<double> reference(kElements);
    std::vector<std::byte> output(kElements * element_bytes);
    FillWithPoison(output);
    Random random(7);
    for (size_t i = 0; i < kElements; ++i) {
      reference[i] = i % 11 == 0 ? kNan : static_cast<double>(random.Below(2'000'001)) / 1e6 - 1;
      if (i % 11 != 0) Encode(type, reference[i], output.data() + i * element_bytes);
    }
    GroupTolerance tolerance = Tolerance{1e-3, 4e-3};
    tolerance.run = 7;
    tolerance.groups = 13;
    tolerance.absolute[5] = 0.5;
    const ComparisonTerms terms = {type, kElements, tolerance, kPoisonWord};
    const auto reference_buffer = Uploaded(std::as_bytes(std::span(reference)));
    const auto expect_as_on_host = [&](const char* what) {
      const auto buffer = Uploaded(output);
      const auto found = memory_->Compare(buffer->View(0), reference_buffer->View(0), terms);
      ASSERT_TRUE(found.ok()) << found.status().ToString();
      const OutputComparison expected = CompareOnHost(output, reference, terms);
      EXPECT_EQ(found->elements, expected.elements) << what << Name(type);
      EXPECT_EQ(found->wrong, expected.wrong) << what << Name(type);
      EXPECT_EQ(found->spoiled_gap, expected.spoiled_gap) << what << Name(type);
      EXPECT_EQ(found->worst_offset, expected.worst_offset) << what << Name(type);
      if (std::isfinite(expected.worst_ratio)) {
        EXPECT_NEAR(found->worst_ratio, expected.worst_ratio, 1e-12) << what << Name(type);
        EXPECT_EQ(found->worst_value, expected.worst_value) << what << Name(type);
      } else {
        EXPECT_EQ(found->worst_ratio, expected.worst_ratio) << what << Name(type);
      }
    };

    expect_as_on_host("right ");
    Encode(type, 5, output.data() + 123'457 * element_bytes);
    Encode(type, -5, output.data() + 299'999 * element_bytes);
    expect_as_on_host("two wrong ");
    output[11 * 20'000 * element_bytes] = std::byte{0};
    output[11 * 10'000 * element_bytes + element_bytes - 1] = std::byte{0};
    expect_as_on_host("written gaps ");
    Encode(type, std::numeric_limits<double>::infinity(), output.data() + 200'000 * element_bytes);
    Encode(type, kNan, output.data() + 200'001 * element_bytes);
    expect_as_on_host("infinite ");
  }
}

TEST_F(CudaMemoryTest, ComparesIntegersExactly) {
  constexpr size_t kElements = 100'003;
  std::vector<double> reference(kElements);
  std::vector<int32_t> output(kElements);
  Random random(7);
  for (size_t i = 0; i < kElements; ++i) {
    output[i] = static_cast<int32_t>(random.Next());
    reference[i] = output[i];
  }
  reference[11] = std::numeric_limits<double>::quiet_NaN();
  FillWithPoison(std::as_writable_bytes(std::span(output).subspan(11, 1)));
  const ComparisonTerms terms = {DataType::kI32, kElements, {}, kPoisonWord};
  const auto reference_buffer = Uploaded(std::as_bytes(std::span(reference)));
  const auto compared = [&] {
    const auto bytes = std::as_bytes(std::span(output));
    const auto buffer = Uploaded({bytes.begin(), bytes.end()});
    return *memory_->Compare(buffer->View(0), reference_buffer->View(0), terms);
  };

  const OutputComparison right = compared();
  output[99'999] ^= 1;
  output[11] = 0;
  const OutputComparison wrong = compared();

  EXPECT_EQ(right.elements, static_cast<int64_t>(kElements - 1));
  EXPECT_EQ(right.wrong, 0);
  EXPECT_EQ(right.worst_ratio, 0);
  EXPECT_FALSE(right.spoiled_gap.has_value());
  EXPECT_EQ(wrong.wrong, 1);
  EXPECT_EQ(wrong.worst_offset, 99'999);
  EXPECT_EQ(wrong.spoiled_gap, 11);
}

}  // namespace
}  // namespace attune::cuda
