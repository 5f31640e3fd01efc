// Thousands of random changes of an index, blind ones and ones with corrected checksums: each is
// reported, or changes no answer; none crashes.
#include <cstring>

#include <gtest/gtest.h>

#include "attune/index/choice_index.h"
#include "attune/index/index_builder.h"
#include "attune/index/index_format.h"
#include "attune/index/sample_choices.h"

namespace attune {
namespace {

constexpr int kChanges = 4000;
constexpr int kProblems = 25;

class IndexDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Random random(1);
    IndexBuilder builder;
    for (int i = 0; i < kProblems; ++i) {
      problems_.push_back(RandomProblem(random));
      ASSERT_TRUE(builder.Add(problems_.back(), RandomChoice(i, random)).ok());
    }
    bytes_ = builder.Bytes({NewSetId(), kProblems}).value();
    original_ = std::move(*ChoiceIndex::Over(bytes_));
  }

  // Runs every query. Returns how many answers were failures, which must be of the right kind.
  int Ask(const ChoiceIndex& index, bool may_answer_wrongly) {
    int failures = 0;
    const auto note = [&](const Status& status) {
      if (status.ok()) return true;
      ++failures;
      EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.ToString();
      return false;
    };
    for (const Problem& problem : problems_) {
      const auto found = index.Find(problem);
      if (note(found.status()) && !may_answer_wrongly) {
        ExpectSameChoices(*found, original_->Find(problem).value());
      }
      const auto nearest = index.Nearest(problem, 3, 50);
      if (note(nearest.status()) && !may_answer_wrongly) {
        ExpectSameNeighbours(*nearest, original_->Nearest(problem, 3, 50).value());
      }
    }
    return failures;
  }

  // True if any failure was reported.
  bool IsReported(std::string bytes, bool may_answer_wrongly) {
    const auto index = ChoiceIndex::Over(std::move(bytes));
    if (!index.ok()) {
      EXPECT_TRUE(index.error().code() == StatusCode::kDataLoss ||
                  index.error().code() == StatusCode::kFailedPrecondition)
          << index.error().ToString();
      return true;
    }
    IndexBuilder builder;
    const bool is_copied =
        (*index)->file().CheckAll().ok() && builder.AddAll((*index)->file()).ok();
    const int failures = Ask(**index, may_answer_wrongly);
    EXPECT_TRUE(!is_copied || may_answer_wrongly || failures == 0);
    return failures > 0 || !is_copied;
  }

  std::vector<Problem> problems_;
  std::string bytes_;
  std::unique_ptr<ChoiceIndex> original_;
};

TEST_F(IndexDamageTest, AChangedByteIsReportedWhenTheWholeIsCheckedAndNeverBelieved) {
  Random random(2);
  for (int i = 0; i < kChanges; ++i) {
    std::string bytes = bytes_;
    const size_t offset = random.Below(bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ (1 + random.Below(255)));

    EXPECT_TRUE(IsReported(std::move(bytes), false)) << "offset " << offset;
  }
}

TEST_F(IndexDamageTest, ACutIndexIsReportedAtOnce) {
  Random random(3);
  for (int i = 0; i < kChanges; ++i) {
    const size_t size_bytes = random.Below(bytes_.size());

    EXPECT_FALSE(ChoiceIndex::Over(bytes_.substr(0, size_bytes)).ok()) << size_bytes;
  }
}

TEST_F(IndexDamageTest, RowsInEachOthersPlacesAreReported) {
  Random random(4);
  const IndexHeader& header = original_->file().header();
  for (int i = 0; i < kChanges; ++i) {
    const size_t section = random.Below(kSectionCount - 1);
    const SectionRow& rows = header.sections[section];
    const size_t row_bytes = RowBytes(static_cast<Section>(section));
    const uint64_t from = random.Below(rows.count);
    const uint64_t to = random.Below(rows.count);
    if (from == to) continue;
    std::string bytes = bytes_;
    bytes.replace(rows.offset + to * row_bytes, row_bytes, bytes_, rows.offset + from * row_bytes,
                  row_bytes);

    EXPECT_TRUE(IsReported(std::move(bytes), false)) << Name(static_cast<Section>(section));
  }
}

// An attacker can compute checksums. Then answers may be wrong, but only answers.
TEST_F(IndexDamageTest, RowsThatLieWithTheRightChecksumCrashNothing) {
  Random random(5);
  const IndexHeader& header = original_->file().header();
  int reported = 0;
  for (int i = 0; i < kChanges; ++i) {
    const auto section = static_cast<Section>(random.Below(kSectionCount - 1));
    const SectionRow& rows = header.sections[static_cast<size_t>(section)];
    const size_t row_bytes = RowBytes(section);
    const uint64_t number = random.Below(rows.count);
    std::string bytes = bytes_;
    char* const row = bytes.data() + rows.offset + number * row_bytes;
    const uint32_t words[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff, 0x7ff80000};
    const size_t word = random.Below((row_bytes - sizeof(uint64_t)) / sizeof(uint32_t));
    std::memcpy(row + word * sizeof(uint32_t), &words[random.Below(std::size(words))],
                sizeof(uint32_t));
    const uint64_t check = CheckOf({row, row_bytes - sizeof(uint64_t)}, section, number);
    std::memcpy(row + row_bytes - sizeof(check), &check, sizeof(check));

    if (IsReported(std::move(bytes), true)) ++reported;
  }
  EXPECT_GT(reported, kChanges / 8);
}

}  // namespace
}  // namespace attune
