#include "attune/record/network.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(NetworkTest, TextLeavesOutWhatIsNotThere) {
  EXPECT_EQ(Text(Network{"Resnet50", "", "", ""}), "Resnet50");
  EXPECT_EQ(Text(Network{"Resnet50", "1", "", ""}), "Resnet50:1");
  EXPECT_EQ(Text(Network{"Resnet50", "1", "Pytorch", "2.11"}), "Resnet50:1@Pytorch:2.11");
  EXPECT_EQ(Text(Network{"Resnet50", "", "Pytorch", ""}), "Resnet50@Pytorch");
}

TEST(NetworkTest, ReadsWhatItWrites) {
  for (const Network& network : {Network{"a:b", "c@d", "e%f", "\n"}, Network{"x", "", "y", "1"},
                                 Network{"\xff", "1", "", ""}}) {
    const auto parsed = ParseNetwork(Text(network));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ(*parsed, network);
  }
}

TEST(NetworkTest, RefusesOtherTexts) {
  for (const char* text :
       {"", ":1", "@Pytorch", "a:b:c", "a@", "a@:1", "a:", "a%4", "a%41", "a b%"}) {
    EXPECT_FALSE(ParseNetwork(text).ok()) << text;
  }
}

TEST(NetworkTest, IsNamedByPeople) {
  const auto named = NetworkOf("Resnet50:1", "Pytorch:1");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(*named, (Network{"Resnet50", "1", "Pytorch", "1"}));
  EXPECT_EQ(*NetworkOf("gpt/2", ""), (Network{"gpt/2", "", "", ""}));
  EXPECT_FALSE(NetworkOf("", "Pytorch:1").ok());
  EXPECT_FALSE(NetworkOf(":1", "").ok());
  EXPECT_FALSE(NetworkOf("a", ":1").ok());
  EXPECT_FALSE(NetworkOf(std::string(256, 'x'), "").ok());
}

}  // namespace
}  // namespace attune
