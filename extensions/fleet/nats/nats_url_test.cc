#include "extensions/fleet/nats/nats_url.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::nats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NatsUrl, EveryPartIsReadAndWrittenAgain) {
  const std::string text =
      "tls://worker@a.example:4222,b.example:5222,[::1]:4222?replicas=3&fleet=lab-2&tlsca=/etc/"
      "ca.pem&tlscert=/c.pem&tlskey=/k.pem";

  const auto url = ParseNatsUrl(text);

  ASSERT_TRUE(url.ok()) << url.error().message();
  EXPECT_TRUE(url->has_tls);
  EXPECT_EQ(url->user, "worker");
  EXPECT_THAT(url->hosts, ElementsAre("a.example:4222", "b.example:5222", "[::1]:4222"));
  EXPECT_EQ(url->replicas, 3);
  EXPECT_EQ(url->fleet, "lab-2");
  EXPECT_EQ(url->authority_file, "/etc/ca.pem");
  EXPECT_EQ(url->certificate_file, "/c.pem");
  EXPECT_EQ(url->key_file, "/k.pem");
  EXPECT_EQ(url->Text(), text);
}

TEST(NatsUrl, WhatIsLeftOutIsUsual) {
  const auto url = ParseNatsUrl("nats://host/");

  ASSERT_TRUE(url.ok()) << url.error().message();
  EXPECT_THAT(url->hosts, ElementsAre("host:4222"));
  EXPECT_EQ(url->Text(), "nats://host:4222");
  EXPECT_FALSE(url->has_tls);
  EXPECT_EQ(url->fleet, "attune");
  EXPECT_EQ(url->replicas, 0);
}

TEST(NatsUrl, APasswordOrATokenIsRefusedAndNeverRepeated) {
  for (const char* url :
       {"nats://me:geheim@host", "tls://me:ge@heim@host", "nats://me:ge/heim@host",
        "nats://me:ge?heim@host", "nats://:geheim@host", "nats://host?password=geheim",
        "nats://host?token=geheim", "nats://a,me:geheim@host"}) {
    const Status refused = ParseNatsUrl(url).status();

    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(refused.message(), HasSubstr("ATTUNE_QUEUE_PASSWORD_FILE")) << url;
    EXPECT_THAT(refused.message(), HasSubstr("ATTUNE_QUEUE_CREDENTIALS_FILE"));
    EXPECT_THAT(refused.message(), Not(HasSubstr("heim")));
  }
}

TEST(NatsUrl, WhatCannotBeReadIsRefused) {
  for (const char* url : {"",
                          "nats",
                          "nats:",
                          "nats://",
                          "http://host",
                          "nats://@host",
                          "nats://a b@host",
                          "nats://host:",
                          "nats://host:0",
                          "nats://host:65536",
                          "nats://host:+1",
                          "nats://host:1x",
                          "nats://host,",
                          "nats://,host",
                          "nats://[::1",
                          "nats://[::1]4222",
                          "nats://[]:1",
                          "nats://host/path",
                          "nats://ho st",
                          "nats://host\n",
                          "nats://h\xc3\xb6st",
                          "nats://host?replicas=0",
                          "nats://host?replicas=6",
                          "nats://host?replicas=",
                          "nats://host?replicas=3&replicas=3",
                          "nats://host?fleet=",
                          "nats://host?fleet=a.b",
                          "nats://host?fleet=>",
                          "nats://host?unknown=1",
                          "nats://host?tlsca=/a",
                          "tls://host?tlsca=",
                          "tls://host?tlscert=/a",
                          "tls://host?tlskey=/a"}) {
    EXPECT_EQ(ParseNatsUrl(url).status().code(), StatusCode::kInvalidArgument) << url;
  }
  EXPECT_EQ(ParseNatsUrl("nats://" + std::string(5000, 'x')).status().code(),
            StatusCode::kInvalidArgument);
  std::string many = "nats://h";
  for (int i = 0; i < 16; ++i) many += ",h";
  EXPECT_THAT(ParseNatsUrl(many).status().message(), HasSubstr("17 hosts"));
}

}  // namespace
}  // namespace attune::nats
