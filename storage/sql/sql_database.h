// An open database: sessions that are lent to one operation at a time, and turns for writers. The
// stores over it read and write its content.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attune/base/outage_log.h"
#include "attune/base/status.h"
#include "storage/sql/alive_mark.h"
#include "storage/sql/condition_rows.h"
#include "storage/sql/connection.h"
#include "storage/sql/database_server.h"
#include "storage/sql/log_sync.h"
#include "storage/sql/server_clock.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/text_table.h"
#include "storage/sql/transaction.h"
#include "storage/sql/trial_rows.h"
#include "storage/sql/write_queue.h"

namespace attune {
namespace sql {

// A connection with the caches filled over it, so that both are dropped together.
struct DatabaseSession {
  explicit DatabaseSession(std::unique_ptr<Connection> opened) : connection(std::move(opened)) {}

  std::unique_ptr<Connection> connection;
  InternedTexts candidates{CandidateTable()};
  InternedTexts problems{ProblemTable()};
  SetReader sets;
  TrialReader trials;
  ConditionReader conditions;
};

// Retry policy for an unreachable server.
struct Reconnecting {
  std::chrono::milliseconds patience{0};
  std::shared_ptr<OutageLog> outages;  // SqlStoreOptions::outages.
};

}  // namespace sql

// Thread-safe. A nested or concurrent operation gets another session. Writers take turns here
// first, so that threads of one process do not wait for the lock of the database.
class SqlDatabase {
 public:
  // In the file `path`.
  SqlDatabase(std::filesystem::path path, const sql::ConnectionOptions& options,
              std::unique_ptr<sql::Connection> first, void (*on_write_lock)(int64_t waited_ns));
  // A database on `server`. Operations that fail because the connection is gone are retried over
  // new connections within the patience.
  SqlDatabase(std::unique_ptr<sql::DatabaseServer> server, sql::Access access,
              std::unique_ptr<sql::Connection> first, sql::Reconnecting reconnecting);

  // Runs `body` in a write transaction, which is committed and on the disk when this returns Ok. On
  // a server it may run more than once, so it must start afresh each time. An error of `body` is
  // returned and rolls everything back. kFailedPrecondition if the database was opened to be read.
  Status Write(const std::function<Status(sql::DatabaseSession&, sql::WriteTransaction&)>& body);
  // Runs `body` on one state of the database. It may call Read or Write again.
  Status Read(const std::function<Status(sql::DatabaseSession&)>& body);
  // Does nothing, and returns Ok, in a database without that table: one opened to be read may be
  // older.
  Status ReadIfAny(const sql::Table& table, const std::function<Status(sql::Connection&)>& body);
  // Syncs commits of other processes to the disk. For a database opened to be read, a failure is
  // ignored.
  Status Sync();

  // The time, by the clock of the server, or of this machine for a file.
  Result<int64_t> NowUnixNs();

  // Mark shows other processes that `number` is in use (alive_mark.h); IsMarked returns true if any
  // process uses it.
  Result<sql::AliveMark> Mark(int64_t number);
  bool IsMarked(int64_t number);

 private:
  static constexpr size_t kMaxIdleSessions = 8;
  static constexpr int kTidiedLogPages = 1000;
  static constexpr int kLargeLogPages = 8000;

  Result<std::unique_ptr<sql::Connection>> Connect();
  Result<std::unique_ptr<sql::DatabaseSession>> Borrow();
  // For a server: drops idle connections after it has cut them.
  void DropIdle();
  // Drops a session after a failure instead of returning it, because its caches may hold rows of a
  // transaction that was rolled back.
  void GiveBack(std::unique_ptr<sql::DatabaseSession> session);
  Status CommitNow(const std::function<Status(sql::DatabaseSession&, sql::WriteTransaction&)>& body,
                   sql::Fault& fault);
  Result<std::unique_ptr<sql::DatabaseSession>> BeginReading(sql::Fault& fault);
  enum class Purpose { kRead, kWrite };
  // Repeats `attempt` while its failure may be temporary.
  Status Repeatedly(Purpose purpose, const std::function<Status(sql::Fault&)>& attempt);
  // Records the result of an attempt.
  void NoteAway(Purpose purpose, const Status& why);
  void NoteThere(Purpose purpose);
  // While others write, some of the log always remains and it grows; then the rest is moved in a
  // turn, so that the next writer restarts the log.
  void TidyLog();

  const std::string name_;
  const std::filesystem::path path_;                   // Empty on a server.
  const std::unique_ptr<sql::DatabaseServer> server_;  // Null for a file.
  const sql::ConnectionOptions options_;
  const sql::Reconnecting reconnecting_;
  // A server can be there for readers and away for writers: it may be read-only.
  std::atomic<bool> is_away_to_write_{false};
  void (*const on_write_lock_)(int64_t waited_ns);
  sql::LogSync log_;
  std::mutex tidying_mutex_;
  std::atomic<int> log_pages_{0};
  std::atomic<int> tidy_at_pages_{kTidiedLogPages};
  sql::WriteQueue writes_;
  sql::ServerClock clock_;
  std::mutex mutex_;  // Guards idle_.
  std::vector<std::unique_ptr<sql::DatabaseSession>> idle_;
};

}  // namespace attune
