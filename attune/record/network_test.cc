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
  EXPECT_FALSE(NetworkOf("a", ":").ok());
  EXPECT_FALSE(NetworkOf(":", "").ok());
  EXPECT_FALSE(NetworkOf(std::string(256, 'x'), "").ok());
}

TEST(NetworkTest, TheLastColonOfANameDivides) {
  EXPECT_EQ(*NetworkOf("meta:llama:3", "a:b:c:"), (Network{"meta:llama", "3", "a:b:c", ""}));
  EXPECT_EQ(*NetworkOf("meta:llama:", ""), (Network{"meta:llama", "", "", ""}));
  for (const char* name : {"a", "a:1", "a:b:", "a:b:1"}) {
    const auto network = NetworkOf(name, "");
    ASSERT_TRUE(network.ok()) << name;
    EXPECT_EQ(NameAndVersion(network->model, network->model_version), name);
  }
}

TEST(NetworkTest, ANameThatIsTooLongIsNotRepeated) {
  const std::string message = NetworkOf(std::string(5000, 'x'), "").error().message();
  EXPECT_LT(message.size(), 400u);
  EXPECT_NE(message.find("[5000 bytes]"), std::string::npos) << message;
}

}  // namespace
}  // namespace attune
