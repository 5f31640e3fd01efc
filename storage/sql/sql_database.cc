#include "storage/sql/sql_database.h"

#include <utility>

#include <fmt/format.h>

#include "storage/sql/database_file.h"
#include "storage/sql/write_turn.h"

namespace attune {

using sql::Access;
using sql::DatabaseSession;
using sql::QueuedWrite;
using sql::WriteTransaction;
using sql::WriteTurn;

SqlDatabase::SqlDatabase(std::filesystem::path path, const sql::ConnectionOptions& options,
                         std::unique_ptr<sql::Connection> first, void (*on_write_lock)(int64_t))
    : path_(std::move(path)), options_(options), on_write_lock_(on_write_lock), log_(path_) {
  idle_.push_back(std::make_unique<DatabaseSession>(std::move(first)));
}

Status SqlDatabase::Sync() {
  const Status synced = log_.Sync();
  return options_.access == Access::kWrite ? synced : Status::Ok();
}

Result<std::unique_ptr<DatabaseSession>> SqlDatabase::Borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<DatabaseSession> session = std::move(idle_.back());
      idle_.pop_back();
      return session;
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(auto connection, sql::OpenDatabase(path_, options_));
  return std::make_unique<DatabaseSession>(std::move(connection));
}

void SqlDatabase::GiveBack(std::unique_ptr<DatabaseSession> session) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdleSessions) idle_.push_back(std::move(session));
}

Status SqlDatabase::Write(const std::function<Status(DatabaseSession&, WriteTransaction&)>& body) {
  if (options_.access != Access::kWrite) {
    return FailedPrecondition(
        fmt::format("Database '{}' was opened to be read only.", path_.string()));
  }
  QueuedWrite write;
  write.body = [&] { return CommitNow(body); };
  writes_.Run(write, [this](const std::function<void()>& run_next) {
    const WriteTurn turn = WriteTurn::Take(path_.string(), options_.busy_timeout);
    run_next();
  });
  if (on_write_lock_ != nullptr) on_write_lock_(write.began_ns - write.asked_ns);
  ATTUNE_RETURN_IF_ERROR(write.status);
  ATTUNE_RETURN_IF_ERROR(log_.Sync());
  TidyLog();
  return Status::Ok();
}

Status SqlDatabase::CommitNow(
    const std::function<Status(DatabaseSession&, WriteTransaction&)>& body) {
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<DatabaseSession> session, Borrow());
  ATTUNE_ASSIGN_OR_RETURN(WriteTransaction transaction,
                          WriteTransaction::Begin(*session->connection));
  ATTUNE_RETURN_IF_ERROR(body(*session, transaction));
  ATTUNE_RETURN_IF_ERROR(transaction.Commit());
  log_pages_ = session->connection->log_pages();
  GiveBack(std::move(session));
  return Status::Ok();
}

void SqlDatabase::TidyLog() {
  const int pages = log_pages_;
  if (pages < kTidiedLogPages) tidy_at_pages_ = kTidiedLogPages;
  if (pages < tidy_at_pages_ || !tidying_mutex_.try_lock()) return;
  const std::lock_guard tidying(tidying_mutex_, std::adopt_lock);
  tidy_at_pages_ = pages + kTidiedLogPages;
  auto session = Borrow();
  if (!session.ok()) return;
  (*session)->connection->TidyLog();
  if (pages >= kLargeLogPages) {
    const WriteTurn turn = WriteTurn::Take(path_.string(), options_.busy_timeout);
    (*session)->connection->TidyLog();
  }
  GiveBack(std::move(*session));
}

Status SqlDatabase::ReadIfAny(const sql::Table& table,
                              const std::function<Status(sql::Connection&)>& body) {
  return Read([&](DatabaseSession& session) -> Status {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_any, sql::HasTable(*session.connection, table));
    return has_any ? body(*session.connection) : Status::Ok();
  });
}

Status SqlDatabase::Read(const std::function<Status(DatabaseSession&)>& body) {
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<DatabaseSession> session, Borrow());
  ATTUNE_RETURN_IF_ERROR(session->connection->BeginRead());
  ATTUNE_RETURN_IF_ERROR(body(*session));
  ATTUNE_RETURN_IF_ERROR(session->connection->Commit());
  GiveBack(std::move(session));
  return Status::Ok();
}

}  // namespace attune
