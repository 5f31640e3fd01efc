// Real database servers on loopback with data of their own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "tests/servers/test_certificates.h"

namespace attune {

enum class ServerKind { kPostgres, kMaria };

// How a server is reached.
struct TestServerTerms {
  std::string address = "127.0.0.1";
  // With them only TLS connections are accepted. Borrowed.
  const TestCertificates* certificates = nullptr;
  std::string data_folder = {};  // Instead of one beside its log; empty, and the server's own.
};

// A server process in a folder of its own, on a free port of 127.0.0.1, run as the user `nobody`
// where this process is root's: none of them runs as root. It does not wait for the disk, by which
// tests lose nothing but time. It ends with this object, and with the process. Not thread-safe.
class TestServer {
 public:
  // The user of databases, the owner of everything NewDatabase makes, and its password. The
  // password contains characters that break connection strings and SQL.
  static constexpr const char* kUser = "attune";
  static constexpr const char* kPassword = "it's \"pass\\word\" %41 & more";

  // kNotFound if the server is not installed here, with the name of its package.
  static Result<std::unique_ptr<TestServer>> Start(ServerKind kind,
                                                   const TestServerTerms& terms = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  // As `kill -9` does it.
  void Kill();
  // True if its process is gone: killed, or by a fault of its own.
  bool IsGone();
  // On the same data and the same port, once it answers.
  Status Run();

  // From now on, and for connections that there are, too.
  Status SetReadOnly(bool is_read_only);

  // The URL of a new, empty database that kUser owns, called `name` or by a name of its own.
  Result<std::string> NewDatabase(const std::string& name = "");
  // Runs `sql` as the administrator, in `database` or in the server's own.
  Status Administer(const std::string& sql, const std::string& database = "");
  // Runs it as another user.
  Status RunAs(const std::string& user, const std::string& password, const std::string& sql,
               const std::string& database);
  // Runs the file `sql` as the administrator by the server's own client, as people do it.
  Status AdministerByFile(const std::filesystem::path& sql, const std::string& database);
  // The end of its log, which says why it does not run.
  std::string Log() const;

 private:
  TestServer(ServerKind kind, TestServerTerms terms) : kind_(kind), terms_(std::move(terms)) {}
  Status Prepare();
  Status AskForTls() const;
  std::string TemporaryFolder() const;  // As a word of its command.
  std::string DataFolder() const;
  Status WaitUntilItAnswers();
  std::vector<std::string> Command() const;

  const ServerKind kind_;
  const TestServerTerms terms_;
  std::filesystem::path folder_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
  int databases_ = 0;
};

// One for each kind and process, started when it is first asked for. Status as of Start.
Result<TestServer*> SharedServer(ServerKind kind);

}  // namespace attune
