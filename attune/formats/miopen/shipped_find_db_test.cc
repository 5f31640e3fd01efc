// MIOpen's shipped files, if available: read, and written again.

#include <bzlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/formats/miopen/find_db.h"

namespace attune::miopen {
namespace {

// Empty if it is not there.
std::string Shipped(const std::string& name) {
  const std::string path = std::string(ATTUNE_SHARED_DATA_DIR "/miopen/") + name + ".bz2";
  const std::unique_ptr<BZFILE, decltype(&BZ2_bzclose)> file(BZ2_bzopen(path.c_str(), "rb"),
                                                             BZ2_bzclose);
  if (file == nullptr) return "";
  std::string content;
  std::vector<char> buffer(size_t{1} << 20);
  for (;;) {
    const int got = BZ2_bzread(file.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got <= 0) return content;
    content.append(buffer.data(), static_cast<size_t>(got));
  }
}

// Counts items with a time that reads as zero, in the text alone.
uint64_t ZeroTimesIn(const std::string& content, bool is_old) {
  uint64_t zeros = 0;
  for (size_t colon = content.find(':'); colon != std::string::npos;
       colon = content.find(':', colon + 1)) {
    const size_t begin = is_old ? content.find(',', colon) + 1 : colon + 1;
    const std::string_view time =
        std::string_view(content).substr(begin, content.find(',', begin) - begin);
    zeros += time.find_first_not_of("0.") == time.npos ? 1 : 0;
  }
  return zeros;
}

struct Expected {
  std::string name;
  bool is_old;
  size_t records;
  uint64_t zero_times;
  bool is_in_order;
  std::map<FindingKind, uint64_t> others;  // All findings beside times of zero.
};

void CheckShipped(const Expected& expected) {
  const std::string content = Shipped(expected.name);
  if (content.empty()) GTEST_SKIP() << "What MIOpen ships is not at hand.";
  Findings findings;

  FindDb db = ReadFindDb(content, findings);

  EXPECT_EQ(db.records.size(), expected.records);
  EXPECT_EQ(ZeroTimesIn(content, expected.is_old), expected.zero_times);
  EXPECT_EQ(findings.count(FindingKind::kImpossibleTime), expected.zero_times);
  for (size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    if (kind == FindingKind::kImpossibleTime) continue;
    const auto known = expected.others.find(kind);
    EXPECT_EQ(findings.count(kind), known == expected.others.end() ? 0 : known->second)
        << Name(kind);
  }

  const std::string text = Text(db);
  EXPECT_EQ(text == content, expected.zero_times == 0 && expected.is_in_order);
  Findings of_text;
  const FindDb again = ReadFindDb(text, of_text);
  EXPECT_EQ(of_text.count(FindingKind::kImpossibleTime), 0u);
  EXPECT_EQ(of_text.count(FindingKind::kUnsortedKeys), 0u);
  std::sort(db.records.begin(), db.records.end(),
            [](const FindRecord& a, const FindRecord& b) { return a.key < b.key; });
  ASSERT_EQ(again.records.size(), db.records.size());
  for (size_t i = 0; i < again.records.size(); ++i) {
    std::vector<FindItem>& items = db.records[i].items;
    std::stable_sort(items.begin(), items.end(),
                     [](const FindItem& a, const FindItem& b) { return a.time_ms < b.time_ms; });
    ASSERT_EQ(again.records[i].key, db.records[i].key);
    ASSERT_EQ(again.records[i].items, items) << again.records[i].key;
  }
}

TEST(ShippedFindDbTest, OneInMIOpensOrderIsWrittenByteForByte) {
  CheckShipped(
      {"gfx906_60.HIP.fdb.txt", true, 120'454, 0, true, {{FindingKind::kImpossibleProblem, 77}}});
}

TEST(ShippedFindDbTest, OneOfRdnaIsWrittenWithoutItsTimesOfZero) {
  CheckShipped({"gfx1030_36.HIP.fdb.txt",
                true,
                106'105,
                582,
                true,
                {{FindingKind::kImpossibleProblem, 233}, {FindingKind::kUnknownSolver, 136}}});
}

TEST(ShippedFindDbTest, OneOfTodayIsWrittenWithoutItsTimesOfZero) {
  CheckShipped({"gfx90878.HIP.fdb.txt",
                false,
                183'610,
                1183,
                true,
                {{FindingKind::kImpossibleProblem, 364}}});
}

TEST(ShippedFindDbTest, OneThatIsNotSortedIsWrittenSorted) {
  CheckShipped({"gfx803_36.OpenCL.fdb.txt",
                true,
                53'431,
                0,
                false,
                {{FindingKind::kImpossibleProblem, 36},
                 {FindingKind::kRemovedSolver, 3139},
                 {FindingKind::kUnsortedKeys, 24'578},
                 {FindingKind::kUnsortedItems, 10'667}}});
}

}  // namespace
}  // namespace attune::miopen
