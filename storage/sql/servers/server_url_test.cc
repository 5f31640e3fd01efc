#include "storage/sql/servers/server_url.h"

#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "storage/sql/servers/database_servers.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune::sql {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ServerUrl, EveryPartIsReadAndWrittenAgain) {
  const std::string text = "postgresql://at%40me@db.example:5433/my%20db?sslmode=verify-full";

  const auto url = ParseServerUrl(text);

  ASSERT_TRUE(url.ok()) << url.error().message();
  EXPECT_EQ(url->scheme, "postgresql");
  EXPECT_EQ(url->user, "at@me");
  EXPECT_EQ(url->host, "db.example");
  EXPECT_EQ(url->port, 5433);
  EXPECT_EQ(url->database, "my db");
  EXPECT_EQ(url->options.at("sslmode"), "verify-full");
  EXPECT_EQ(url->Text(), text);
}

TEST(ServerUrl, AddressesAndSocketsAreHosts) {
  EXPECT_EQ(ParseServerUrl("mysql://u@[::1]:3306/d")->host, "::1");
  EXPECT_EQ(ParseServerUrl("mysql://u@[::1]:3306/d")->Text(), "mysql://u@[::1]:3306/d");
  EXPECT_EQ(ParseServerUrl("postgresql://u@%2Frun%2Fpostgresql/d")->host, "/run/postgresql");
}

TEST(ServerUrl, APasswordIsRefusedAndNeverRepeated) {
  for (const char* url : {"postgresql://me:geheim@host/d", "mysql://me:ge@heim@host/d",
                          "postgresql://me@host/d?password=geheim"}) {
    const Status refused = ParseServerUrl(url).status();

    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(refused.message(), HasSubstr("ATTUNE_DB_PASSWORD_FILE"));
    EXPECT_THAT(refused.message(), Not(HasSubstr("heim")));
  }
}

TEST(ServerUrl, WhatCannotBeReadIsRefused) {
  for (const char* url :
       {"", "postgresql:", "postgresql://", "postgresql://host/d", "postgresql://u@/d",
        "postgresql://u@host", "postgresql://u@host/", "postgresql://u@host:0/d",
        "postgresql://u@host:65536/d", "postgresql://u@host:1x/d", "postgresql://u@[::1/d",
        "postgresql://u@[::1]5432/d", "postgresql://u%2@host/d", "postgresql://u@host/d%00",
        "postgresql://u@host/d%0a", "postgresql://u@host/d?sslmode",
        "postgresql://u@host/d?a=1&a=2"}) {
    EXPECT_EQ(ParseServerUrl(url).status().code(), StatusCode::kInvalidArgument) << url;
  }
  EXPECT_EQ(ParseServerUrl("mysql://u@h/" + std::string(5000, 'x')).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(ServerUrl, UnknownKindsAndOptionsAreNamedWithThoseThatThereAre) {
  const Status kind = DatabaseServerAt("oracle://u@h/d", {}).status();
  EXPECT_EQ(kind.code(), StatusCode::kUnsupported);
  EXPECT_THAT(kind.message(), HasSubstr("postgresql://USER@HOST/DATABASE"));

  const Status option = DatabaseServerAt("mysql://u@h/d?sslmode=require", {}).status();
  EXPECT_EQ(option.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(option.message(), HasSubstr("sslca, sslcert, sslkey, socket"));
}

TEST(ServerPassword, ComesFromAFileThatNotEverybodyReadsOrFromTheEnvironment) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "password";
  ASSERT_EQ(WriteFileAtomically(file, "geheim 1\r\nsecond line\n"), Status::Ok());
  ::setenv("ATTUNE_DB_PASSWORD", "of the environment", 1);
  EXPECT_EQ(*ServerPassword(), "of the environment");

  ::setenv("ATTUNE_DB_PASSWORD_FILE", file.c_str(), 1);
  ::chmod(file.c_str(), 0600);
  EXPECT_EQ(*ServerPassword(), "geheim 1");

  ::chmod(file.c_str(), 0604);
  EXPECT_THAT(ServerPassword().status().message(), HasSubstr("chmod o-rwx"));
  ::setenv("ATTUNE_DB_PASSWORD_FILE", (file + ".gone").c_str(), 1);
  EXPECT_EQ(ServerPassword().status().code(), StatusCode::kFailedPrecondition);
  ::unsetenv("ATTUNE_DB_PASSWORD_FILE");
  ::unsetenv("ATTUNE_DB_PASSWORD");
}

}  // namespace
}  // namespace attune::sql
