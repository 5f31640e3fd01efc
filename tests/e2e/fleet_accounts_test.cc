// A fleet with servers that accept only TLS, and with the accounts of deploy/.
#include <signal.h>

#include <fstream>
#include <memory>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "tests/fleet/attune_processes.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/test_certificates.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

constexpr int kJobs = 4;

struct AccountsOn {
  const char* name;
  ServerKind kind;
  const char* accounts;  // The file in deploy/.
  const char* password;  // SQL that gives {0} the password {1}.
  const char* trust;     // The options of a URL that trusts the authority {}.
};

void PrintTo(const AccountsOn& on, std::ostream* out) { *out << on.name; }

std::string PasswordOf(const std::string& account) { return "secret-of-" + account; }

class FleetAccountsTest : public ::testing::TestWithParam<AccountsOn> {
 protected:
  void SetUp() override {
    auto made = TestCertificates::Make("IP:127.0.0.1");
    if (!made.ok()) GTEST_SKIP() << made.status().message();
    certificates_ = std::make_unique<TestCertificates>(std::move(*made));
    auto server = TestServer::Start(GetParam().kind, {.certificates = certificates_.get()});
    if (!server.ok() && server.error().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << server.error().message();
    }
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    url_ = server_->NewDatabase("attune").value();
    processes_.Set("ATTUNE_PLUGINS", "fake");
  }

  // The URL of the database for `user`, with `authority` as the trusted certificate.
  std::string UrlOf(const std::string& user, const std::string& authority) const {
    std::string url = url_;
    url.replace(url.find("//") + 2, std::string(TestServer::kUser).size(), user);
    return url + fmt::format(fmt::runtime(GetParam().trust), authority);
  }
  // From here on `attune` is that user of the database.
  void Become(const std::string& user, const std::string& password) {
    const std::string file = processes_.folder() / "password";
    ASSERT_EQ(WriteFileAtomically(file, password + "\n"), Status::Ok());
    std::filesystem::permissions(
        file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    processes_.Set("ATTUNE_DB", UrlOf(user, certificates_->authority()));
    processes_.Set("ATTUNE_DB_PASSWORD_FILE", file);
  }
  void Run(const std::vector<std::string>& words, int status = 0) {
    EXPECT_EQ(processes_.Run("commands", words), status) << processes_.Log("commands");
  }
  // A session with jobs, by the owner.
  void LoadJobs() {
    Become(TestServer::kUser, TestServer::kPassword);
    std::ofstream list(processes_.folder() / "list.txt");
    for (int i = 0; i < kJobs; ++i) list << fmt::format("gemm@1{{m={0},n={0},k=8}}\n", 8 + i);
    list.close();
    Run({"import", processes_.folder() / "list.txt", "--tag", "t"});
    Run({"session", "new", "may", "--device", "fake"});
    Run({"jobs", "load", "--session", "may", "--tag", "t", "--steps", "perf:measure", "--solvers",
         "fake.tiled"});
  }
  void MakeAccounts() {
    const std::filesystem::path file =
        std::filesystem::path(ATTUNE_DEPLOY_FOLDER) / GetParam().accounts;
    ASSERT_EQ(server_->AdministerByFile(file, "attune"), Status::Ok());
    for (const char* account : {"attune_worker", "attune_reader"}) {
      ASSERT_EQ(server_->Administer(
                    fmt::format(fmt::runtime(GetParam().password), account, PasswordOf(account)),
                    "attune"),
                Status::Ok());
    }
  }

  AttuneProcesses processes_{ATTUNE_PROGRAM};
  std::unique_ptr<TestCertificates> certificates_;
  std::unique_ptr<TestServer> server_;
  std::string url_;
};

TEST_P(FleetAccountsTest, AWorkerDoesItsJobsWithTheLeastOfRightsAndNothingElse) {
  LoadJobs();
  MakeAccounts();
  auto nats = NatsServer::Start(fmt::format(
      "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n{}\nauthorization {{ users: [\n"
      "{{ user: attune, password: p }}\n"
      "{{ user: worker, password: p, permissions: $attune_worker }} ] }}",
      certificates_->certificate(), certificates_->key(),
      ReadFile(std::filesystem::path(ATTUNE_DEPLOY_FOLDER) / "nats_permissions.conf").value()));
  if (!nats.ok()) GTEST_SKIP() << nats.status().message();
  const auto queue_of = [&](const std::string& user) {
    return fmt::format("tls://{}@{}?tlsca={}", user, (*nats)->host(), certificates_->authority());
  };
  processes_.Set("ATTUNE_QUEUE_PASSWORD", "p");
  processes_.Set("ATTUNE_QUEUE", queue_of("attune"));
  Run({"reconcile"});

  Become("attune_worker", PasswordOf("attune_worker"));
  processes_.Set("ATTUNE_QUEUE", queue_of("worker"));
  Run({"worker", "--device", "fake", "--per-problem", "5s", "--until-done"});
  EXPECT_THAT(processes_.Log("commands"), HasSubstr(fmt::format("{} jobs done", kJobs)));

  Become("attune_reader", PasswordOf("attune_reader"));
  Run({"status", "--session", "may"});
  Run({"workers"});
  Run({"session", "close", "may"}, 1);
  EXPECT_THAT(processes_.Log("commands"), HasSubstr("'attune_reader'"));
}

TEST_P(FleetAccountsTest, NeitherAccountDeletesOrMakesTables) {
  LoadJobs();
  MakeAccounts();
  for (const char* account : {"attune_worker", "attune_reader"}) {
    for (const char* sql :
         {"DELETE FROM session", "DELETE FROM job", "DROP TABLE job", "TRUNCATE TABLE job",
          "CREATE TABLE mine (id INT)", "ALTER TABLE job DROP COLUMN lost"}) {
      const Status refused = server_->RunAs(account, PasswordOf(account), sql, "attune");
      EXPECT_NE(refused, Status::Ok()) << account << ": " << sql;
    }
  }
  EXPECT_EQ(
      server_->RunAs("attune_worker", PasswordOf("attune_worker"), "SELECT * FROM job", "attune"),
      Status::Ok());
  EXPECT_NE(server_->RunAs("attune_reader", PasswordOf("attune_reader"), "UPDATE job SET lost = 1",
                           "attune"),
            Status::Ok());
}

TEST_P(FleetAccountsTest, AServerIsSpokenWithWhoseCertificateIsTrustedAndNoOther) {
  Become(TestServer::kUser, TestServer::kPassword);
  Run({"session", "new", "may", "--device", "fake"});

  for (const std::string& authority :
       {certificates_->other_authority(), certificates_->authority() + ".gone"}) {
    processes_.Set("ATTUNE_DB", UrlOf(TestServer::kUser, authority));
    Run({"session", "list"}, 1);
    EXPECT_THAT(processes_.Log("commands"), HasSubstr("docs/fleet.md, TLS"));
  }
  // Clients without TLS are refused.
  processes_.Set("ATTUNE_DB",
                 url_ + (GetParam().kind == ServerKind::kPostgres ? "?sslmode=disable" : ""));
  Run({"session", "list"}, 1);
}

TEST_P(FleetAccountsTest, AServerWithoutTlsIsNotSpokenWithWhereTheUrlAsksForIt) {
  const auto plain = TestServer::Start(GetParam().kind).value();
  url_ = plain->NewDatabase("attune").value();
  Become(TestServer::kUser, TestServer::kPassword);

  Run({"session", "new", "may", "--device", "fake"}, 1);

  EXPECT_THAT(processes_.Log("commands"), ::testing::ContainsRegex("TLS|SSL"));
}

TEST_P(FleetAccountsTest, AWorkerOnTablesOfAnOlderAttuneIsToldWhoseTaskItIsToMigrateThem) {
  LoadJobs();
  MakeAccounts();
  // As one that had no newest migration has left it.
  ASSERT_EQ(server_->RunAs(TestServer::kUser, TestServer::kPassword,
                           "DELETE FROM migration WHERE version = (SELECT newest FROM (SELECT "
                           "MAX(version) AS newest FROM migration) AS of_all)",
                           "attune"),
            Status::Ok());
  Become("attune_worker", PasswordOf("attune_worker"));

  Run({"worker", "--device", "fake", "--until-done"}, 1);

  EXPECT_THAT(processes_.Log("commands"), HasSubstr("older than this attune's"));
  EXPECT_THAT(processes_.Log("commands"), HasSubstr("'attune_worker'"));
}

INSTANTIATE_TEST_SUITE_P(
    On, FleetAccountsTest,
    ::testing::Values(AccountsOn{"PostgreSQL", ServerKind::kPostgres, "postgresql_accounts.sql",
                                 "ALTER ROLE {0} PASSWORD '{1}'",
                                 "?sslmode=verify-full&sslrootcert={}"},
                      AccountsOn{"MariaDB", ServerKind::kMaria, "mariadb_accounts.sql",
                                 "ALTER USER '{0}'@'%' IDENTIFIED BY '{1}' ACCOUNT UNLOCK",
                                 "?sslca={}"}),
    [](const auto& on) { return std::string(on.param.name); });

}  // namespace
}  // namespace attune
