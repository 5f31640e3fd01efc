// One random field of a list replaced, a thousand times over: reported with its position, or
// without effect, or a change of that one field of that one line.

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/formats/problem_line.h"
#include "attune/formats/problem_list.h"

namespace attune {
namespace {

using Keys = std::set<std::string, std::less<>>;

std::string DriverList(std::string_view name) {
  const auto content = ReadFile(std::string(ATTUNE_TEST_DATA_DIR "/driver/") + std::string(name));
  EXPECT_TRUE(content.ok()) << content.status().message();
  return content.ok() ? *content : "";
}

std::string RandomValue(Random& random) {
  const char* const values[] = {"",  "0",    "-1",  "abc",  "99999999999", "1.5", "3",
                                "7", "0x10", "1e3", "\xff", "conv",        "--",  "2147483647"};
  return values[random.Below(std::size(values))];
}

// One line of a list, and the fields in it.
class Line {
 public:
  explicit Line(std::string text) : text_(std::move(text)) {
    is_command_ = text_.find("MIOpenDriver") != std::string::npos;
    const bool is_text = text_.find('@') != std::string::npos;
    const std::string_view separators = is_command_ ? " \t" : is_text ? " \t@{,=}" : " \t_,";
    for (size_t i = 0; i < text_.size();) {
      const size_t begin = text_.find_first_not_of(separators, i);
      if (begin == std::string::npos) break;
      const size_t end = std::min(text_.find_first_of(separators, begin), text_.size());
      fields_.emplace_back(begin, end - begin);
      i = end;
    }
  }

  const std::string& text() const { return text_; }
  size_t field_count() const { return fields_.size(); }
  std::string Field(size_t i) const { return text_.substr(fields_[i].first, fields_[i].second); }
  std::string WithField(size_t i, const std::string& value) const {
    return std::string(text_).replace(fields_[i].first, fields_[i].second, value);
  }

  // The parts of a problem's text that field `i` may change; nothing if it is no value of a
  // parameter.
  Keys KeysOf(size_t i) const {
    if (i == 0) return {};
    if (is_command_) return KeysOfFlag(Field(1), Field(i - 1));
    if (text_.starts_with("gemm@")) return WithStrides(Field(i - 1));
    if (text_.find('@') != std::string::npos) return KeysOfText(Field(i - 1));
    // GemmTunableOp float NN nn M N K ld LDA LDB LDC
    static const std::vector<std::string> kPlaces = {"",  "type", "ta,tb", "ta,tb", "m",  "n",
                                                     "k", "",     "lda",   "ldb",   "ldc"};
    return i < kPlaces.size() ? WithStrides(kPlaces[i]) : Keys();
  }

 private:
  // Packed strides are left out of a text, so with an extent they come and go.
  static Keys WithStrides(const std::string& key) {
    if (key == "m" || key == "n" || key == "k") return {key, "lda", "ldb", "ldc"};
    return {key};
  }

  // Fields without a meaning beside others are left out of a text: a depth of 1 makes a layout
  // without depth, and a pass and a mask decide which fields exist.
  static Keys KeysOfText(const std::string& key) {
    if (key == "d" || key == "layout") return {"d", "layout"};
    if (key == "dir") return {"dir", "running", "saved", "fuse", "mask", "queries"};
    return {key};
  }
  static Keys KeysOfNormFlag(const std::string& flag) {
    static const std::map<std::string, Keys> kNorm = {{"-n", {"n"}},
                                                      {"-c", {"c"}},
                                                      {"-H", {"h"}},
                                                      {"-W", {"w"}},
                                                      {"-D", {"d", "layout"}},
                                                      {"-L", {"layout"}},
                                                      {"-m", {"mode"}},
                                                      {"-s", {"saved"}},
                                                      {"-r", {"running"}},
                                                      {"-F", {"dir", "running", "saved"}},
                                                      {"-b", {"dir", "running", "saved"}},
                                                      {"-f", {"fuse"}}};
    const auto found = kNorm.find(flag);
    return found == kNorm.end() ? Keys() : found->second;
  }

  static Keys KeysOfFlag(const std::string& operator_name, const std::string& flag) {
    if (operator_name.starts_with("bnorm")) return KeysOfNormFlag(flag);
    static const std::map<std::string, std::string> kConv = {
        {"-n", "n"},  {"-c", "c"},  {"-H", "h"},   {"-W", "w"},   {"-k", "k"},  {"-y", "fh"},
        {"-x", "fw"}, {"-p", "ph"}, {"-q", "pw"},  {"-u", "sh"},  {"-v", "sw"}, {"-l", "dh"},
        {"-j", "dw"}, {"-g", "g"},  {"-F", "dir"}, {"-m", "mode"}};
    static const std::map<std::string, std::string> kPool = {
        {"-n", "batchsize"},     {"-c", "in_channels"},   {"-H", "in_h"},  {"-W", "in_w"},
        {"-y", "win_h"},         {"-x", "win_w"},         {"-p", "pad_h"}, {"-q", "pad_w"},
        {"-u", "pool_stride_w"}, {"-v", "pool_stride_h"}, {"-m", "mode"},  {"-F", "forw"}};
    const auto& keys = operator_name == "conv" ? kConv : kPool;
    const auto found = keys.find(flag);
    return found == keys.end() ? Keys() : Keys{found->second};
  }

  std::string text_;
  bool is_command_ = false;
  std::vector<std::pair<size_t, size_t>> fields_;  // Begin and length.
};

std::set<std::string> TextsOf(const ProblemList& list) {
  std::set<std::string> texts;
  for (const ListedProblem& problem : list.problems) texts.insert(problem.text);
  return texts;
}

// The texts of the problems of one line, without the parameters called `keys`.
std::set<std::string> TextsWithout(const std::string& line, const Keys& keys) {
  std::set<std::string> result;
  for (const std::string& text : TextsOf(ReadProblemList(line))) {
    const size_t brace = text.find('{');
    std::string kept = text.substr(0, brace);
    for (size_t begin = brace + 1; begin < text.size();) {
      const size_t end = std::min(text.find_first_of(",}", begin), text.size());
      const std::string parameter = text.substr(begin, end - begin);
      if (!keys.contains(parameter.substr(0, parameter.find('=')))) kept += "," + parameter;
      begin = end + 1;
    }
    result.insert(kept);
  }
  return result;
}

std::vector<Line> LinesOf(const std::string& content) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = content.find('\n', begin);
    lines.emplace_back(content.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The list with line `without` replaced by `by`.
std::string Joined(const std::vector<Line>& lines, size_t without, const std::string& by) {
  std::string content;
  for (size_t i = 0; i < lines.size(); ++i) content += (i == without ? by : lines[i].text()) + "\n";
  return content;
}

// After two real lists of convolutions and pools.
constexpr size_t kLinesOfOtherForms = 9;
std::string WholeList() {
  return DriverList("resnet50.txt") + DriverList("google_net.txt") +
         "gemm@1{m=1,n=2,k=3,ta=t}\nGemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5\n"
         "gemm@1{m=8,n=9,k=10,lda=16,batch=2,type=f64}\n"
         "MIOpenDriver bnormfp16 -n 8 -c 64 -H 28 -W 28 -m 1 -F 1 -b 0 -s 1 -r 1 -A 1 -B 0\n"
         "MIOpenDriver bnorm -F 0 -b 1 -n 4 -c 16 -D 3 -H 7 -W 9 -L NDHWC -m 0 -s 1 -f 3 -V 0\n"
         "batch_norm@1{dir=bwd,n=2,c=3,h=5,w=7,layout=nhwc,affine=0,saved=1,fuse=add_relu}\n"
         "batch_norm@1{mode=act,n=3,c=4,d=2,running=1,type=bf16,align=16,det=1}\n"
         "softmax@2{outer=12,length=64,inner=3,dir=bwd,log=1,type=f16}\n"
         "softmax@2{outer=12,length=64,mask=additive,queries=4,scaled=1}\n";
}

TEST(ProblemListMutationTest, EveryCorruptedFieldIsReportedWithItsPlaceOrChangesThatFieldAlone) {
  const std::vector<Line> lines = LinesOf(WholeList());
  ASSERT_TRUE(ReadProblemList(WholeList()).rejected.empty());
  Random random(53);
  std::map<std::string, int> counts;
  for (int i = 0; i < 1500; ++i) {
    // Every third time in one of the last lines, which have other forms.
    const size_t at = i % 3 == 0 ? lines.size() - 1 - random.Below(kLinesOfOtherForms)
                                 : random.Below(lines.size());
    const Line& line = lines[at];
    const size_t field = random.Below(line.field_count());
    const std::string mutated = line.WithField(field, RandomValue(random));
    // An operator of another name is kept as one that attune does not compute.
    if (field == 0 && mutated.find('@') != std::string::npos) continue;

    const ProblemList list = ReadProblemList(Joined(lines, at, mutated));

    SCOPED_TRACE(line.text() + "\nbecame " + mutated);
    ASSERT_EQ(list.read, lines.size());
    ASSERT_EQ(list.read, list.imported + list.duplicates + list.rejected.size());
    ASSERT_LE(list.rejected.size(), 1u);
    // The problems of the other lines remain, and nothing else does.
    std::set<std::string> expected = TextsOf(ReadProblemList(Joined(lines, at, "")));
    expected.merge(TextsOf(ReadProblemList(mutated)));
    ASSERT_EQ(TextsOf(list), expected);
    if (!list.rejected.empty()) {
      const RejectedLine& rejected = list.rejected.front();
      EXPECT_EQ(rejected.line, at + 1);
      EXPECT_GE(rejected.column, 1u);
      EXPECT_LE(rejected.column, mutated.size() + 1);
      EXPECT_FALSE(rejected.reason.empty());
      ++counts["reported"];
      continue;
    }
    const std::set<std::string> texts = TextsOf(ReadProblemList(mutated));
    if (!texts.empty() && texts.begin()->starts_with("bnorm@")) {
      // Kept with all of its flags: a blend or an activation that attune does not compute.
      const std::string flag = line.Field(field - 1);
      ASSERT_TRUE(flag == "-A" || flag == "-B" || flag == "-f") << flag;
      ++counts["another value"];
      continue;
    }
    const Keys keys = line.KeysOf(field);
    ASSERT_EQ(TextsWithout(mutated, keys), TextsWithout(line.text(), keys));
    ++counts[texts == TextsOf(ReadProblemList(line.text())) ? "harmless" : "another value"];
  }
  EXPECT_GT(counts["reported"], 500);
  EXPECT_GT(counts["harmless"], 20);
  EXPECT_GT(counts["another value"], 50);
}

TEST(ProblemListMutationTest, WhatEveryProblemOfACorruptedListSaysIsSound) {
  const std::vector<Line> lines = LinesOf(WholeList());
  Random random(59);
  for (int i = 0; i < 200; ++i) {
    const size_t at = random.Below(lines.size());
    const std::string mutated =
        lines[at].WithField(random.Below(lines[at].field_count()), RandomValue(random));
    for (const ListedProblem& problem : ReadProblemList(mutated).problems) {
      ASSERT_TRUE(Validate(problem.problem).ok()) << mutated;
      ASSERT_EQ(*ParseProblem(problem.text), problem.problem) << mutated;
    }
  }
}

}  // namespace
}  // namespace attune
