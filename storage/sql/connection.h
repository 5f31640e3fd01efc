// One session with a database: its settings, its prepared statements, its transactions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "storage/sql/engine.h"
#include "storage/sql/guest_vfs.h"
#include "storage/sql/soci_headers.h"
#include "storage/sql/statement.h"

namespace attune::sql {

class SqliteEngine;

// Access rights of a connection, and how it reads. With a server, any access but kWrite acts as
// kRead.
enum class Access {
  kWrite,     // Everything; makes the file.
  kRead,      // Nothing is written, but the log of a killed process is recovered.
  kReadOnly,  // Uses the log and its index, which exist and stay unchanged.
  // The file alone, without a lock: needs no right to write anywhere. REQUIRES: there is no log. If
  // the file changes meanwhile, Commit fails with kUnavailable.
  kReadFile,
  // Reads from inside another program: guest_vfs.h.
  kGuest,
};

struct ConnectionOptions {
  std::chrono::milliseconds busy_timeout{5000};  // Patience with another writer.
  int64_t max_size_bytes = 0;                    // For a file; 0 for no bound.
  Access access = Access::kWrite;
  // For files that are read: queries fail with kUnavailable once it is set. May be null.
  const std::atomic<bool>* is_cancelled = nullptr;
};

// Not thread-safe. Every failure names the database. After a failure the connection should be
// closed, because its prepared statements may be stale.
class Connection {
 public:
  // Opens the SQLite database `path`. kUnavailable for a guest while another connection to a file
  // is open in this process. REQUIRES: it exists, or `access` is kWrite, which creates it.
  static Result<std::unique_ptr<Connection>> Open(const std::filesystem::path& path,
                                                  const ConnectionOptions& options);
  // Opens a session with a server. REQUIRES: the database exists.
  static Result<std::unique_ptr<Connection>> Open(std::unique_ptr<Engine> engine);
  // Makes every static object of the libraries that a connection uses.
  static void LoadLibrary();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // The statement for `sql`, prepared once. Borrowed; lives as long as the connection.
  Result<Statement*> Prepare(std::string_view sql, const StatementShape& shape);
  // The statement for `sql`, or null if it was not prepared yet.
  Statement* Find(std::string_view sql);
  // Runs a statement without parameters and ignores its results.
  Status Execute(const std::string& sql);
  // The first column of each row of a query without parameters. REQUIRES: it is a query.
  Result<std::vector<std::string>> Texts(const std::string& sql);

  // In a file, a write transaction has the write lock from the start; with a server, once the row
  // of `counter` is locked (WriteTransaction). Closing rolls back an open transaction.
  Status BeginWrite();
  Status BeginRead();
  Status Commit();
  void Rollback() noexcept;
  // No other process migrates the database until UnlockSchema. REQUIRES: a write transaction.
  Status LockSchema();
  void UnlockSchema() noexcept;
  // Call after the statements of a migration: resumes the transaction that they may have ended.
  Status Resume();
  // For files: moves log content into the database as far as possible; never waits.
  void TidyLog() noexcept;
  // For files: moves all of the log into the database, so that the file can be copied alone.
  // kResourceExhausted if it has no room for it, kUnavailable if other processes read or write.
  Status EmptyLog();
  // For files: log pages after the last commit of this connection.
  int log_pages() const { return log_pages_; }

  const std::string& name() const { return engine_->name(); }
  const Engine& engine() const { return *engine_; }
  soci::session& session() { return session_; }
  // The cause of the last failure.
  Fault fault() const { return fault_; }

  // The Status of an exception that a library threw while `sql` ran. Called in a catch block.
  Status Translated(const std::exception& error, std::string_view sql);

 private:
  Connection() = default;

  // Set for files while the session is open.
  std::optional<OwnConnection> own_;
  std::optional<GuestConnection> guest_;
  soci::session session_;
  std::unique_ptr<Engine> engine_;
  const SqliteEngine* read_file_ = nullptr;  // engine_ with Access::kReadFile.
  Fault fault_ = Fault::kFinal;
  bool in_transaction_ = false;
  int log_pages_ = 0;
  std::map<std::string, std::unique_ptr<Statement>, std::less<>> statements_;
};

}  // namespace attune::sql
