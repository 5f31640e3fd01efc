#include "tests/servers/test_server.h"

#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/program_run.h"
#include "attune/base/steady_time.h"
#include "storage/sql/servers/server_url.h"
#include "storage/sql/servers/soci_server_headers.h"
#include "tests/servers/server_process.h"

namespace attune {
namespace {

constexpr int64_t kStartPatienceNs = 30'000'000'000;
constexpr int kPollMs = 20;

struct ServerProgram {
  std::string_view name;
  std::string program;
  std::string package;
};

ServerProgram ProgramOf(ServerKind kind) {
  switch (kind) {
    case ServerKind::kPostgres:
      return {"PostgreSQL", "postgres", "postgresql"};
    case ServerKind::kMaria:
      return {"MariaDB", "mariadbd", "mariadb-server-core"};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<TestServer>> TestServer::Start(ServerKind kind,
                                                      const TestServerTerms& terms) {
  const ServerProgram needed = ProgramOf(kind);
  if (FindServerProgram(needed.program).empty()) {
    return NotFound(fmt::format("{} is not installed here (Debian's package {}).", needed.name,
                                needed.package));
  }
  std::unique_ptr<TestServer> server(new TestServer(kind, terms));  // NOLINT: private.
  ATTUNE_RETURN_IF_ERROR(server->Prepare());
  ATTUNE_RETURN_IF_ERROR(server->Run());
  if (kind == ServerKind::kMaria) {
    ATTUNE_RETURN_IF_ERROR(server->Administer(fmt::format(
        "CREATE USER '{}'@'%' IDENTIFIED BY '{}'", kUser, "it\\'s \"pass\\\\word\" %41 & more")));
  }
  return server;
}

TestServer::~TestServer() {
  Kill();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void TestServer::Kill() { KillServer(pid_); }

bool TestServer::IsGone() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

Status TestServer::Prepare() {
  ATTUNE_ASSIGN_OR_RETURN(folder_, NewServerFolder());
  ATTUNE_ASSIGN_OR_RETURN(port_, FreePort(terms_.address));
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder_ / "password", kPassword));
  ATTUNE_RETURN_IF_ERROR(GiveToServer(folder_ / "password"));
  std::vector<std::string> words;
  if (kind_ == ServerKind::kPostgres) {
    words = {FindServerProgram("initdb"),
             "-D",
             DataFolder(),
             "-U",
             kUser,
             "-A",
             "scram-sha-256",
             "--pwfile",
             folder_ / "password",
             "-E",
             "UTF8",
             "--locale=C.UTF-8",
             "--no-sync"};
  } else {
    words = {FindProgram("mariadb-install-db"),
             "--no-defaults",
             "--skip-test-db",
             "--auth-root-authentication-method=normal",
             "--datadir=" + DataFolder(),
             TemporaryFolder()};
  }
  if (RunToItsEnd(words, folder_) == 0) return AskForTls();
  return Internal(fmt::format("'{}' failed: {}", words.front(), Log()));
}

// At its start MariaDB removes the tables of other servers with the same folder for them.
std::string TestServer::TemporaryFolder() const { return "--tmpdir=" + folder_.string(); }

std::string TestServer::DataFolder() const {
  return terms_.data_folder.empty() ? (folder_ / "data").string() : terms_.data_folder;
}

Status TestServer::AskForTls() const {
  if (kind_ != ServerKind::kPostgres) return Status::Ok();
  const std::filesystem::path access = std::filesystem::path(DataFolder()) / "pg_hba.conf";
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(
      access, fmt::format("{} all all 0.0.0.0/0 scram-sha-256\n",
                          terms_.certificates == nullptr ? "host" : "hostssl")));
  return GiveToServer(access);
}

std::vector<std::string> TestServer::Command() const {
  const std::string program = FindServerProgram(ProgramOf(kind_).program);
  const std::string data = DataFolder();
  const std::string port = fmt::format("{}", port_);
  std::vector<std::string> words;
  switch (kind_) {
    case ServerKind::kPostgres:
      words = {program,
               "-D",
               data,
               "-p",
               port,
               "-k",
               folder_,
               "-c",
               "listen_addresses=" + terms_.address,
               "-c",
               "fsync=off",
               "-c",
               "shared_buffers=64MB"};
      if (terms_.certificates == nullptr) break;
      words.insert(words.end(),
                   {"-c", "ssl=on", "-c", "ssl_cert_file=" + terms_.certificates->certificate(),
                    "-c", "ssl_key_file=" + terms_.certificates->key()});
      break;
    case ServerKind::kMaria:
      words = {program, "--no-defaults", "--datadir=" + data, TemporaryFolder(), "--port=" + port,
               "--bind-address=" + terms_.address, "--skip-name-resolve",
               "--socket=" + (folder_ / "socket").string(),
               "--pid-file=" + (folder_ / "pid").string(), "--innodb-buffer-pool-size=64M",
               "--skip-log-bin",
               // Each new table would otherwise wait for the disk several times. Committed data is
               // with the system, so that a killed server still has it.
               "--debug-no-sync", "--innodb-flush-method=nosync",
               "--innodb-flush-log-at-trx-commit=2", "--sync-frm=OFF"};
      if (terms_.certificates == nullptr) break;
      words.insert(words.end(),
                   {"--ssl-cert=" + terms_.certificates->certificate(),
                    "--ssl-key=" + terms_.certificates->key(), "--require-secure-transport=ON"});
      break;
  }
  return words;
}

Status TestServer::Run() {
  pid_ = SpawnServer(Command(), folder_);
  if (pid_ < 0) return Unavailable(fmt::format("No process: {}.", std::strerror(errno)));
  return WaitUntilItAnswers();
}

Status TestServer::WaitUntilItAnswers() {
  const int64_t deadline_ns = SteadyNowNs() + kStartPatienceNs;
  Status last;
  while (SteadyNowNs() < deadline_ns) {
    if (IsGone()) {
      return Internal(fmt::format("{} ended at its start: {}", ProgramOf(kind_).name, Log()));
    }
    if (Answers(port_, terms_.address)) {
      last = Administer("SELECT 1");
      if (last.ok()) return last;
    }
    ::poll(nullptr, 0, kPollMs);
  }
  return DeadlineExceeded(
      fmt::format("{} does not answer: {} {}", ProgramOf(kind_).name, last.message(), Log()));
}

Status TestServer::Administer(const std::string& sql, const std::string& database) {
  if (kind_ == ServerKind::kPostgres) {
    return RunAs(kUser, kPassword, sql, database.empty() ? "postgres" : database);
  }
  return RunAs("root", "", sql, database.empty() ? "mysql" : database);
}

Status TestServer::SetReadOnly(bool is_read_only) {
  if (kind_ == ServerKind::kMaria) {
    return Administer(fmt::format("SET GLOBAL read_only = {}", is_read_only ? 1 : 0));
  }
  ATTUNE_RETURN_IF_ERROR(
      Administer(fmt::format("ALTER SYSTEM SET default_transaction_read_only = {}", is_read_only)));
  return Administer("SELECT pg_reload_conf()");
}

Status TestServer::RunAs(const std::string& user, const std::string& password,
                         const std::string& sql, const std::string& database) {
  try {
    soci::session session;
    if (kind_ == ServerKind::kPostgres) {
      session.open(soci::postgresql,
                   fmt::format("postgresql://{}:{}@{}:{}/{}?application_name=tests", user,
                               sql::PercentEncoded(password), terms_.address, port_, database));
    } else {
      session.open(
          soci::mysql,
          fmt::format("host={} port={} user={} db={}{}{}", terms_.address, port_, user, database,
                      password.empty() ? "" : " password=" + sql::QuotedValue(password),
                      terms_.certificates == nullptr
                          ? ""
                          : " sslca=" + sql::QuotedValue(terms_.certificates->authority())));
    }
    session << sql;
  } catch (const std::exception& error) {
    return Unavailable(error.what());
  }
  return Status::Ok();
}

Status TestServer::AdministerByFile(const std::filesystem::path& sql, const std::string& database) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(sql));
  // A folder in which the user that runs servers can read it.
  const std::string copy = folder_ / "administer.sql";
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(copy, text));
  ATTUNE_RETURN_IF_ERROR(GiveToServer(copy));
  const std::string port = fmt::format("{}", port_);
  const std::vector<std::string> words =
      kind_ == ServerKind::kPostgres
          ? std::vector<std::string>{"/usr/bin/env",
                                     "HOME=" + folder_.string(),
                                     fmt::format("PGPASSWORD={}", kPassword),
                                     FindServerProgram("psql"),
                                     "-h",
                                     terms_.address,
                                     "-p",
                                     port,
                                     "-U",
                                     kUser,
                                     "-d",
                                     database,
                                     "-v",
                                     "ON_ERROR_STOP=1",
                                     "-q",
                                     "-f",
                                     copy}
          : std::vector<std::string>{FindProgram("mariadb"),
                                     "--no-defaults",
                                     "-h",
                                     terms_.address,
                                     "-P",
                                     port,
                                     "-u",
                                     "root",
                                     database,
                                     "-e",
                                     "source " + copy};
  if (RunToItsEnd(words, folder_) == 0) return Status::Ok();
  return Internal(fmt::format("'{}' failed: {}", sql.string(), Log()));
}

Result<std::string> TestServer::NewDatabase(const std::string& wanted) {
  const std::string name = wanted.empty() ? fmt::format("attune_{}", ++databases_) : wanted;
  ATTUNE_RETURN_IF_ERROR(Administer("CREATE DATABASE " + name));
  const bool is_postgres = kind_ == ServerKind::kPostgres;
  if (!is_postgres) {
    ATTUNE_RETURN_IF_ERROR(Administer(fmt::format("GRANT ALL ON {}.* TO '{}'@'%'", name, kUser)));
  }
  return fmt::format("{}://{}@{}:{}/{}", is_postgres ? "postgresql" : "mysql", kUser,
                     terms_.address, port_, name);
}

std::string TestServer::Log() const { return EndOfLog(folder_); }

Result<TestServer*> SharedServer(ServerKind kind) {
  // Started once, whether it succeeds or not, and ended with the process.
  static std::array<std::optional<Result<std::unique_ptr<TestServer>>>, 2> servers;
  auto& server = servers[static_cast<size_t>(kind)];
  if (!server.has_value()) server.emplace(TestServer::Start(kind));
  if (!server->ok()) return server->error();
  return (*server)->get();
}

}  // namespace attune
