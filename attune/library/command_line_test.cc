#include "attune/library/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string MessageOf(std::string_view line) {
  const auto words = SplitWords(line);
  return words.ok() ? "" : words.error().message();
}

TEST(SplitWords, BlanksSplitAndQuotesKeep) {
  EXPECT_THAT(*SplitWords("  a  b\tc\r"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*SplitWords(R"(a 'b  "c' "d 'e" f\ g)"), ElementsAre("a", "b  \"c", "d 'e", "f g"));
  EXPECT_THAT(*SplitWords(R"(--name='x y'z "" '')"), ElementsAre("--name=x yz", "", ""));
}

TEST(SplitWords, InDoubleQuotesABackslashKeepsWhatAShellWouldExpand) {
  EXPECT_THAT(*SplitWords(R"("\$HOME \" \\ \n")"), ElementsAre(R"($HOME " \ \n)"));
  EXPECT_THAT(*SplitWords("$HOME *"), ElementsAre("$HOME", "*"));
}

TEST(SplitWords, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_THAT(MessageOf("a 'b"), HasSubstr("byte 3"));
  EXPECT_THAT(MessageOf("a \"b\\\""), HasSubstr("byte 3"));
  EXPECT_THAT(MessageOf("a\\"), HasSubstr("backslash"));
  EXPECT_THAT(MessageOf("a | b"), HasSubstr("byte 3"));
  EXPECT_THAT(MessageOf("a >out"), HasSubstr("sh -c"));
  EXPECT_THAT(MessageOf(std::string_view("a\0b", 3)), HasSubstr("Byte 2"));
}

TEST(ParseCommandLine, VariablesStandBeforeTheProgram) {
  const auto command = ParseCommandLine("A_1=x B='y z' prog C=3");

  ASSERT_TRUE(command.ok());
  EXPECT_THAT(command->variables, ElementsAre(Pair("A_1", "x"), Pair("B", "y z")));
  EXPECT_THAT(command->words, ElementsAre("prog", "C=3"));
}

TEST(ParseCommandLine, BlankLinesAndRemarksAreNoCommands) {
  for (const char* line : {"", "  \t", "# prog", "  # prog 'unclosed"}) {
    const auto command = ParseCommandLine(line);
    ASSERT_TRUE(command.ok()) << line;
    EXPECT_THAT(command->words, IsEmpty()) << line;
  }
}

TEST(ParseCommandLine, VariablesAloneRunNothing) {
  EXPECT_FALSE(ParseCommandLine("A=1").ok());
  // A word that begins with a digit is no variable.
  EXPECT_THAT(ParseCommandLine("1A=x")->words, ElementsAre("1A=x"));
}

}  // namespace
}  // namespace attune
