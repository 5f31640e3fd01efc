#include "attune/base/base64.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(Base64, OnlyWhatIsWrittenIsRead) {
  for (const std::string bytes : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
  }
  for (const char* text : {"A", "AA", "AA==AA==", " AAA", "AAA ", "A===", "AB==", "A*AA"}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace attune
