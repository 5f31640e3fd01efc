// An open database: sessions that are lent to one operation at a time, and turns for those that
// write. What is kept in it is read and written by the stores over it.
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

// A connection with what was read or written over it, so that they are forgotten together.
struct DatabaseSession {
  explicit DatabaseSession(std::unique_ptr<Connection> opened) : connection(std::move(opened)) {}

  std::unique_ptr<Connection> connection;
  InternedTexts candidates{CandidateTable()};
  InternedTexts problems{ProblemTable()};
  SetReader sets;
  TrialReader trials;
  ConditionReader conditions;
};

// What is done about a server that is away.
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
  // On `server`. What fails because the connection is gone is done again over others within the
  // patience.
  SqlDatabase(std::unique_ptr<sql::DatabaseServer> server, sql::Access access,
              std::unique_ptr<sql::Connection> first, sql::Reconnecting reconnecting);

  // Runs `body` in a write transaction, which is committed and on the disk when this returns Ok;
  // on a server perhaps more than once, so it begins anew each time. What `body` failed with is
  // returned, and nothing of it is kept. kFailedPrecondition if the database was opened to be read.
  Status Write(const std::function<Status(sql::DatabaseSession&, sql::WriteTransaction&)>& body);
  // Runs `body` on one state of the database. It may call Read or Write again.
  Status Read(const std::function<Status(sql::DatabaseSession&)>& body);
  // Nothing, and Ok, in a database that has no such table: one that is only read may be older.
  Status ReadIfAny(const sql::Table& table, const std::function<Status(sql::Connection&)>& body);
  // What others have committed reaches the disk. Of a database that is only read this may fail, and
  // is not said.
  Status Sync();

  // The moment, by the clock of the server, or of this machine for a file.
  Result<int64_t> NowUnixNs();

  // Tells others that `number` is being worked at (alive_mark.h), and whether anybody is.
  Result<sql::AliveMark> Mark(int64_t number);
  bool IsMarked(int64_t number);

 private:
  static constexpr size_t kMaxIdleSessions = 8;
  static constexpr int kTidiedLogPages = 1000;
  static constexpr int kLargeLogPages = 8000;

  Result<std::unique_ptr<sql::Connection>> Connect();
  Result<std::unique_ptr<sql::DatabaseSession>> Borrow();
  // Of a server: nothing is left of connections that it has cut.
  void DropIdle();
  // After a failure a session is not given back but dropped, with what it remembers of a
  // transaction that never was.
  void GiveBack(std::unique_ptr<sql::DatabaseSession> session);
  Status CommitNow(const std::function<Status(sql::DatabaseSession&, sql::WriteTransaction&)>& body,
                   sql::Fault& fault);
  Result<std::unique_ptr<sql::DatabaseSession>> BeginReading(sql::Fault& fault);
  enum class Purpose { kRead, kWrite };
  // Calls `attempt` until it does not fail in a way that may pass.
  Status Repeatedly(Purpose purpose, const std::function<Status(sql::Fault&)>& attempt);
  // Tells what came of an attempt.
  void NoteAway(Purpose purpose, const Status& why);
  void NoteThere(Purpose purpose);
  // While others write, something always remains in the log and it grows; then the little that is
  // left is moved in a turn, so that the next writer starts the log anew.
  void TidyLog();

  const std::string name_;
  const std::filesystem::path path_;                   // Empty on a server.
  const std::unique_ptr<sql::DatabaseServer> server_;  // Null for a file.
  const sql::ConnectionOptions options_;
  const sql::Reconnecting reconnecting_;
  // One that is read is not there for whoever writes to it: it may be read-only.
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
