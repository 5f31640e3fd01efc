#include "attune/library/word_template.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WordTemplateTest, NamesAreFilledInAndDoubledBracesAreBraces) {
  const auto word = WordTemplate::Parse("--{{x}}={n}x{block}{n}");

  ASSERT_TRUE(word.ok()) << word.error().message();
  EXPECT_THAT(word->names(), ElementsAre("n", "block", "n"));
  EXPECT_EQ(
      word->Fill([](std::string_view name) { return std::string(name == "n" ? "7" : "a b"); }),
      "--{x}=7xa b7");
}

TEST(WordTemplateTest, ABraceThatIsPartOfNoNameIsNamedWithItsColumn) {
  for (const char* text : {"ab{", "ab}", "ab{}", "ab{1}", "ab{n x}"}) {
    const auto word = WordTemplate::Parse(text);
    ASSERT_FALSE(word.ok()) << text;
    EXPECT_THAT(word.error().message(), HasSubstr("column 3")) << text;
  }
}

}  // namespace
}  // namespace attune
