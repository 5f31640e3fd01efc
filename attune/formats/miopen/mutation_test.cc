// One random field of a text database replaced, a thousand times over for each form: reported with
// its line, or read and written in its new form. A reported defect changes no byte of other items.

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/perf_db.h"

namespace attune::miopen {
namespace {

constexpr int kMutations = 1000;

// A record as its parts stand in the text: the key, then the items in no order.
using Parts = std::vector<std::string>;

Parts PartsOf(std::string_view line) {
  const size_t equals = std::min(line.find('='), line.size());
  Parts parts = {std::string(line.substr(0, equals))};
  for (size_t begin = equals + 1; begin <= line.size();) {
    const size_t end = std::min(line.find(';', begin), line.size());
    parts.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(parts.begin() + 1, parts.end());
  return parts;
}

struct Reading {
  std::map<uint64_t, Parts> records;  // By line.
  std::multiset<std::string> findings;
};

Reading Finish(std::map<uint64_t, Parts> records, const Findings& findings) {
  Reading reading{std::move(records), {}};
  for (const Finding& finding : findings.kept()) {
    // Without the reason: it names the preceding record, which may be another one for a changed
    // key.
    const bool is_order = finding.kind == FindingKind::kUnsortedKeys;
    reading.findings.insert(
        fmt::format("{} {} {}", finding.line, Name(finding.kind), is_order ? "" : finding.reason));
  }
  return reading;
}

Reading ReadAsFindDb(const std::string& content) {
  Findings findings;
  std::map<uint64_t, Parts> records;
  for (const FindRecord& record : ReadFindDb(content, findings).records) {
    std::string text;
    AppendText(record, text);
    text.pop_back();
    records[record.line] = PartsOf(text);
  }
  return Finish(std::move(records), findings);
}

Reading RecordsOf(const PerfDb& db, const Findings& findings) {
  std::map<uint64_t, Parts> records;
  for (const PerfRecord& record : db.records) {
    std::string text = Text(PerfDb{db.form, {record}});
    text.pop_back();
    records[record.line] = PartsOf(text);
  }
  return Finish(std::move(records), findings);
}

Reading ReadAsPerfDb(const std::string& content) {
  Findings findings;
  const PerfDb db = ReadPerfDb(content, findings);
  return RecordsOf(db, findings);
}

Reading ReadAsBatchNormDb(const std::string& content) {
  Findings findings;
  const PerfDb db = ReadBatchNormDb(content, findings);
  return RecordsOf(db, findings);
}

std::vector<std::string> LinesOf(const std::string& content) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = content.find('\n', begin);
    lines.push_back(content.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string content;
  for (const std::string& line : lines) content += line + "\n";
  return content;
}

// A copy of the line with one field replaced; fields lie between any two separators of any of the
// texts.
std::string Mutated(const std::string& line, Random& random) {
  constexpr std::string_view kSeparators = "=;:,-_x";
  const char* const values[] = {
      "",     "0",   "0.0", "-1",     "abc", "99999999999999999999",
      "1.5",  "inf", "nan", "1e-999", "07",  "3",
      "0x10", "7x7", "1e3", "\xff",   "\t",  "=",
      ";",    ":",   "a,b", " 1",     "F",   "NHWC",
      "FP16", "4;5", "a:1", "W",      "1,2", "miopenConvolutionFwdAlgoGEMM"};
  std::vector<size_t> begins = {0};
  for (size_t i = 0; i < line.size(); ++i) {
    if (kSeparators.find(line[i]) != std::string_view::npos) begins.push_back(i + 1);
  }
  const size_t begin = begins[random.Below(begins.size())];
  const size_t end = std::min(line.find_first_of(kSeparators, begin), line.size());
  return std::string(line).replace(begin, end - begin, values[random.Below(std::size(values))]);
}

bool IsPartOf(const Parts& some, const Parts& all) {
  return some[0] == all[0] &&
         std::includes(all.begin() + 1, all.end(), some.begin() + 1, some.end());
}

// The items of a sound sample's line that were left out: it has some times of zero.
Parts LostOf(const std::string& text, const Reading& sound, uint64_t line) {
  const Parts all = PartsOf(text);
  const auto record = sound.records.find(line);
  const Parts read = record == sound.records.end() ? Parts{""} : record->second;
  Parts lost;
  std::set_difference(all.begin() + 1, all.end(), read.begin() + 1, read.end(),
                      std::back_inserter(lost));
  return lost;
}

Parts Without(const Parts& parts, const Parts& lost) {
  Parts kept = {parts[0]};
  std::set_difference(parts.begin() + 1, parts.end(), lost.begin(), lost.end(),
                      std::back_inserter(kept));
  return kept;
}

struct Form {
  std::string name;
  Reading (*read)(const std::string&);
};

class TextMutationTest : public testing::TestWithParam<Form> {};

TEST_P(TextMutationTest, EveryCorruptedFieldIsReportedWithItsLineOrStandsAsItCameOut) {
  const auto content = ReadFile(ATTUNE_TEST_DATA_DIR "/miopen/" + GetParam().name);
  ASSERT_TRUE(content.ok()) << content.status().message();
  const std::vector<std::string> lines = LinesOf(*content);
  const Reading sound = GetParam().read(*content);
  Random random(61);
  std::map<std::string, int> counts;
  for (int i = 0; i < kMutations; ++i) {
    const size_t at = random.Below(lines.size());
    std::vector<std::string> changed = lines;
    changed[at] = Mutated(lines[at], random);
    SCOPED_TRACE(lines[at] + "\nbecame " + changed[at]);

    const Reading reading = GetParam().read(Joined(changed));

    const uint64_t line = at + 1;
    for (const auto& [other, parts] : sound.records) {
      if (other == line) continue;
      const auto found = reading.records.find(other);
      if (found == reading.records.end()) {
        // The change made its key one that already occurs further up.
        ASSERT_THAT(reading.findings,
                    testing::Contains(testing::StartsWith(fmt::format("{} duplicate_key", other))));
      } else {
        ASSERT_EQ(found->second, parts);
      }
    }
    const auto record = reading.records.find(line);
    const Parts changed_parts = PartsOf(changed[at]);
    if (record != reading.records.end()) {
      ASSERT_TRUE(IsPartOf(record->second, changed_parts));
    }
    const Parts expected = Without(changed_parts, LostOf(lines[at], sound, line));
    std::vector<std::string> reported;
    for (const std::string& finding : reading.findings) {
      // An item that the sample leaves out, too, may have changed in a part that its finding does
      // not mention.
      const bool is_new = reading.findings.count(finding) > sound.findings.count(finding) ||
                          finding.find(" impossible_time ") != std::string::npos;
      if (is_new && finding.starts_with(fmt::format("{} ", line))) reported.push_back(finding);
    }
    const bool is_whole = record != reading.records.end() && record->second == expected;
    ++counts[changed[at] == lines[at] ? "the same" : (is_whole ? "stands" : "reported")];
    if (!is_whole) {
      ASSERT_THAT(reported, testing::Not(testing::IsEmpty()));
    }
  }
  EXPECT_GT(counts["reported"], 200);
  EXPECT_GT(counts["stands"], 30);
}

INSTANTIATE_TEST_SUITE_P(Forms, TextMutationTest,
                         testing::Values(Form{"batchnorm_gfx942130.db.txt", ReadAsBatchNormDb},
                                         Form{"gfx906_60.HIP.fdb.txt", ReadAsFindDb},
                                         Form{"gfx1030_36.HIP.fdb.txt", ReadAsFindDb},
                                         Form{"gfx90878.HIP.fdb.txt", ReadAsFindDb},
                                         Form{"gfx803_36.OpenCL.fdb.txt", ReadAsFindDb},
                                         Form{"gfx1030_36.db.txt", ReadAsPerfDb},
                                         Form{"gfx906_60.cd.pdb.txt", ReadAsPerfDb}),
                         [](const testing::TestParamInfo<Form>& form) {
                           std::string name = form.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace attune::miopen
