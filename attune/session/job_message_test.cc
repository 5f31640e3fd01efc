#include "attune/session/job_message.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(JobMessage, WhatIsWrittenIsReadAgain) {
  for (const QueuedJob& job : {QueuedJob{1, 0}, QueuedJob{17, 3}, QueuedJob{kMost, kMost}}) {
    const auto read = ParseMessage(MessageText(job));

    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(*read, job);
  }
  EXPECT_EQ(MessageText({17, 3}), "1 17 3");
  EXPECT_EQ(MessageId({17, 3}), "17.3");
}

TEST(JobMessage, WhatIsNoMessageIsRefused) {
  for (const std::string& text : {std::string(),
                                  std::string("1"),
                                  std::string("1 "),
                                  std::string("1 17"),
                                  std::string("1 17 "),
                                  std::string("1  17 3"),
                                  std::string(" 1 17 3"),
                                  std::string("1 17 3 "),
                                  std::string("1 17 3 4"),
                                  std::string("1 17 3\n"),
                                  std::string("1 0 3"),
                                  std::string("1 -1 3"),
                                  std::string("1 +17 3"),
                                  std::string("1 017 3"),
                                  std::string("1 17 03"),
                                  std::string("1 17 -0"),
                                  std::string("0 17 3"),
                                  std::string("01 17 3"),
                                  std::string("-1 17 3"),
                                  std::string("1 0x11 3"),
                                  std::string("1 9223372036854775808 3"),
                                  std::string("1 17 9223372036854775808"),
                                  std::string("1\t17\t3"),
                                  std::string("1 17 3\0", 7),
                                  std::string("\xff\xfe"),
                                  std::string("{\"job\":17}"),
                                  std::string(100'000, '1'),
                                  std::string(100'000, ' ')}) {
    const Status refused = ParseMessage(text).status();

    EXPECT_EQ(refused.code(), StatusCode::kDataLoss) << text.substr(0, 100);
    EXPECT_LT(refused.message().size(), 300u);
  }
}

TEST(JobMessage, ALaterVersionIsRefusedWithWhatToDo) {
  for (const char* text : {"2 17 3", "2", "99 something else"}) {
    const Status refused = ParseMessage(text).status();

    EXPECT_EQ(refused.code(), StatusCode::kUnsupported) << text;
    EXPECT_THAT(refused.message(), HasSubstr("update attune"));
  }
}

TEST(DeadLetter, WhatIsWrittenIsReadAgain) {
  for (const DeadLetter& letter :
       {DeadLetter{{17, 3}, 5, "It took down three workers."}, DeadLetter{{0, 0}, 1, ""}}) {
    const auto read = ParseDeadLetter(DeadLetterText(letter));

    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(*read, letter);
  }
}

TEST(DeadLetter, ReasonsAreBoundedAndOnOneLine) {
  const std::string text = DeadLetterText({{17, 3}, 5, "two\nlines" + std::string(1000, 'x')});

  const auto read = ParseDeadLetter(text);

  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_THAT(read->reason, HasSubstr("two lines"));
  EXPECT_EQ(read->reason.size(), kLongestReasonBytes);
}

TEST(DeadLetter, WhatIsNoneIsRefused) {
  for (const char* text : {"", "1 17 3", "1 17 3 x reason", "1 17 3 -1 reason", "1 17 3 5 a\nb"}) {
    EXPECT_EQ(ParseDeadLetter(text).status().code(), StatusCode::kDataLoss) << text;
  }
  EXPECT_EQ(ParseDeadLetter("2 17 3 5 r").status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace attune
