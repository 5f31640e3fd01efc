#include "storage/sql/connection.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/sqlite_engine.h"

namespace attune::sql {

Status Connection::Translated(const std::exception& error, std::string_view sql) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    fault_ = Fault::kFinal;
    return ResourceExhausted(fmt::format("Out of memory while using database '{}'.", name()));
  }
  EngineFailure failure = engine_->Translated(session_, error, sql);
  fault_ = failure.fault;
  return std::move(failure.status);
}

Connection::~Connection() { Rollback(); }

Result<std::unique_ptr<Connection>> Connection::Open(const std::filesystem::path& path,
                                                     const ConnectionOptions& options) {
  std::unique_ptr<Connection> connection(new Connection());  // NOLINT: private.
  if (options.access != Access::kGuest) {
    connection->own_.emplace();
  } else if (!connection->guest_.emplace().is_admitted()) {
    return Unavailable(
        fmt::format("Database '{}' is not read while this program writes to it.", path.string()));
  }
  auto engine = std::make_unique<SqliteEngine>(path.string(), options, connection->log_pages_);
  if (options.access == Access::kReadFile) connection->read_file_ = engine.get();
  connection->engine_ = std::move(engine);
  ATTUNE_RETURN_IF_ERROR(connection->engine_->Open(*connection));
  return connection;
}

Result<std::unique_ptr<Connection>> Connection::Open(std::unique_ptr<Engine> engine) {
  std::unique_ptr<Connection> connection(new Connection());  // NOLINT: private.
  connection->engine_ = std::move(engine);
  ATTUNE_RETURN_IF_ERROR(connection->engine_->Open(*connection));
  return connection;
}

Statement* Connection::Find(std::string_view sql) {
  const auto found = statements_.find(sql);
  return found == statements_.end() ? nullptr : found->second.get();
}

Result<Statement*> Connection::Prepare(std::string_view sql, const StatementShape& shape) {
  if (Statement* found = Find(sql); found != nullptr) return found;
  try {
    auto statement = std::make_unique<Statement>(*this, engine_->Adapted(sql), shape);
    return statements_.emplace(sql, std::move(statement)).first->second.get();
  } catch (const std::exception& error) {
    return Translated(error, sql);
  }
}

Status Connection::Execute(const std::string& sql) {
  try {
    session_ << engine_->Adapted(sql);
  } catch (const std::exception& error) {
    return Translated(error, sql);
  }
  return Status::Ok();
}

void Connection::LoadLibrary() {
  // SOCI makes its tables of types when the first statement that was prepared has a result.
  try {
    soci::session memory(soci::sqlite3, ":memory:");
    std::string text;
    soci::statement statement = (memory.prepare << "SELECT 'text'", soci::into(text));
    statement.execute();
    statement.fetch();
  } catch (const std::exception&) {
    // Opening a database fails with the reason.
  }
}

Result<std::vector<std::string>> Connection::Texts(const std::string& sql) {
  std::vector<std::string> texts;
  try {
    std::string text;
    soci::indicator indicator = soci::i_ok;
    soci::statement statement =
        (session_.prepare << engine_->Adapted(sql), soci::into(text, indicator));
    statement.execute();
    while (statement.fetch()) texts.push_back(indicator == soci::i_ok ? text : "");
  } catch (const std::exception& error) {
    return Translated(error, sql);
  }
  return texts;
}

Status Connection::BeginWrite() {
  ATTUNE_RETURN_IF_ERROR(Execute(engine_->texts().begin_write));
  in_transaction_ = true;
  return Status::Ok();
}

Status Connection::BeginRead() {
  for (const std::string& statement : engine_->texts().begin_read) {
    ATTUNE_RETURN_IF_ERROR(Execute(statement));
  }
  in_transaction_ = true;
  return Status::Ok();
}

Status Connection::LockSchema() {
  const std::string& lock = engine_->texts().lock_schema;
  if (lock.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const auto locked, Texts(lock));
  if (locked == std::vector<std::string>{"1"}) return Status::Ok();
  return Unavailable(fmt::format(
      "Another attune has been bringing the database '{}' to its schema for too long. Try again.",
      name()));
}

void Connection::UnlockSchema() noexcept {
  try {
    const std::string& unlock = engine_->texts().unlock_schema;
    if (!unlock.empty()) (void)Execute(unlock);
  } catch (const std::exception&) {
    // Closing the connection does it, too.
  }
}

Status Connection::Resume() {
  for (const std::string& statement : engine_->texts().resume) {
    ATTUNE_RETURN_IF_ERROR(Execute(statement));
  }
  return Status::Ok();
}

void Connection::TidyLog() noexcept {
  try {
    session_ << "PRAGMA wal_checkpoint(PASSIVE)";
  } catch (const std::exception&) {
    // Another process does it, or there is no space: the log is complete and a later call tries
    // again.
  }
}

Status Connection::EmptyLog() {
  constexpr const char* kCheckpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
  int busy = 1;
  try {
    session_ << kCheckpoint, soci::into(busy);
  } catch (const std::exception& error) {
    return Translated(error, kCheckpoint);
  }
  if (busy == 0) return Status::Ok();
  return Unavailable(fmt::format(
      "Database '{}': its log cannot be emptied while others use it. Try again.", name()));
}

Status Connection::Commit() {
  const Status committed = Execute("COMMIT");
  if (!committed.ok() && fault_ == Fault::kLost) {
    fault_ = Fault::kFinal;
    return Unavailable(fmt::format(
        "{} That was while a transaction was being committed, which is kept or not. Run the same "
        "command again.",
        committed.message()));
  }
  ATTUNE_RETURN_IF_ERROR(committed);
  in_transaction_ = false;
  return read_file_ == nullptr ? Status::Ok() : read_file_->CheckUnchanged();
}

void Connection::Rollback() noexcept {
  if (!in_transaction_) return;
  in_transaction_ = false;
  try {
    session_ << "ROLLBACK";
  } catch (const std::exception&) {
    // SQLite rolls back by itself after a full disk or an I/O error, and then has nothing left to
    // roll back; a server does so when the connection is gone.
  }
}

}  // namespace attune::sql
