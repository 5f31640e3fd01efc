#include "attune/formats/miopen/text_db.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/miopen/test_findings.h"

namespace attune::miopen {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// "1 key=id:values;id:values" for each record.
std::vector<std::string> RecordsOf(std::string_view content, Findings& findings) {
  std::vector<std::string> records;
  ReadTextDb(content, findings, [&records](const TextRecord& record) {
    std::string text = fmt::format("{} {}", record.line, record.key);
    for (const TextItem& item : record.items) text += fmt::format("|{}|{}", item.id, item.values);
    records.push_back(text);
  });
  return records;
}

TEST(TextDbTest, ARecordIsALineWithItsKeyAndItems) {
  Findings findings;

  EXPECT_THAT(RecordsOf("a=b:1;c<1-2>:x, y;d:\n\ne=f:1:2", findings),
              ElementsAre("1 a|b|1|c<1-2>|x, y|d|", "3 e|f|1:2"));

  EXPECT_THAT(PlacesOf(findings), IsEmpty());
}

TEST(TextDbTest, LinesMayEndAsOnWindowsAndTheLastOneNotAtAll) {
  Findings findings;

  EXPECT_THAT(RecordsOf("a=b:1\r\n\r\nc=d:2\r\ne=f:3\r", findings),
              ElementsAre("1 a|b|1", "3 c|d|2", "4 e|f|3"));

  EXPECT_THAT(PlacesOf(findings), IsEmpty());
}

TEST(TextDbTest, ALineWithoutAKeyOrAnItemIsNone) {
  Findings findings;

  EXPECT_THAT(RecordsOf("no equals\n=a:1\nkey=\nkey=nothing\nok=a:1\nkey=;;\n", findings),
              ElementsAre("5 ok|a|1"));

  EXPECT_THAT(PlacesOf(findings),
              ElementsAre("1 bad_line", "2 bad_line", "3 bad_line", "4 bad_item", "4 bad_line",
                          "6 bad_item", "6 bad_item", "6 bad_line"));
}

TEST(TextDbTest, AnItemWithoutANameIsLeftOutAndTheOthersStay) {
  Findings findings;

  EXPECT_THAT(RecordsOf("k=:1;a:1;b;c:2;;d:3;", findings), ElementsAre("1 k|a|1|c|2|d|3"));

  EXPECT_THAT(PlacesOf(findings), ElementsAre("1 bad_item", "1 bad_item", "1 bad_item"));
}

TEST(TextDbTest, ANameHasNeitherCommaNorEqualsSign) {
  Findings findings;

  // Elsewhere the first would be two fields, and the second another key.
  EXPECT_THAT(RecordsOf("k=a,b:1;c=d:2;e:3", findings), ElementsAre("1 k|e|3"));

  EXPECT_THAT(PlacesOf(findings), ElementsAre("1 bad_item", "1 bad_item"));
}

TEST(TextDbTest, BytesThatAreNoPrintableAsciiMakeALineNone) {
  Findings findings;

  EXPECT_THAT(RecordsOf("a=b:\xc3\xa9\nc\0d=e:1\nf=g:\t1\nh=i:1\rx\nok=a:1\n"sv, findings),
              ElementsAre("5 ok|a|1"));

  EXPECT_THAT(PlacesOf(findings),
              ElementsAre("1 bad_line", "2 bad_line", "3 bad_line", "4 bad_line"));
  EXPECT_THAT(findings.kept()[0].reason, testing::HasSubstr("Column 5 is '\\xc3'"));
}

TEST(TextDbTest, ALineBeyondAllBoundsIsNoneAndTheNextIsRead) {
  Findings findings;
  const std::string longest = "a=b:" + std::string(kMaxRecordBytes - 4, 'x');

  const auto records = RecordsOf(longest + "\n" + longest + "x\nc=d:1\n", findings);

  EXPECT_EQ(records.size(), 2u);
  EXPECT_THAT(PlacesOf(findings), ElementsAre("2 bad_line"));
  EXPECT_LT(findings.kept()[0].reason.size(), 200u);
}

}  // namespace
}  // namespace attune::miopen
