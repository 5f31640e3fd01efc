#include "storage/sql/sql_database.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/base/unix_time.h"
#include "storage/sql/database_file.h"
#include "storage/sql/write_turn.h"

namespace attune {

using sql::Access;
using sql::DatabaseSession;
using sql::QueuedWrite;
using sql::WriteTransaction;
using sql::WriteTurn;

namespace {

constexpr std::string_view kTheDatabase = "The database";

}  // namespace

SqlDatabase::SqlDatabase(std::filesystem::path path, const sql::ConnectionOptions& options,
                         std::unique_ptr<sql::Connection> first, void (*on_write_lock)(int64_t))
    : name_(path.string()),
      path_(std::move(path)),
      options_(options),
      on_write_lock_(on_write_lock),
      log_(path_) {
  idle_.push_back(std::make_unique<DatabaseSession>(std::move(first)));
}

SqlDatabase::SqlDatabase(std::unique_ptr<sql::DatabaseServer> server, Access access,
                         std::unique_ptr<sql::Connection> first, sql::Reconnecting reconnecting)
    : name_(server->name()),
      server_(std::move(server)),
      options_{.access = access},
      reconnecting_(std::move(reconnecting)),
      on_write_lock_(nullptr),
      log_(path_) {
  idle_.push_back(std::make_unique<DatabaseSession>(std::move(first)));
}

Status SqlDatabase::Sync() {
  if (server_ != nullptr) return Status::Ok();
  const Status synced = log_.Sync();
  return options_.access == Access::kWrite ? synced : Status::Ok();
}

Result<std::unique_ptr<sql::Connection>> SqlDatabase::Connect() {
  if (server_ != nullptr) return sql::OpenDatabase(*server_, options_.access);
  return sql::OpenDatabase(path_, options_);
}

Result<int64_t> SqlDatabase::NowUnixNs() {
  if (server_ == nullptr) return attune::UnixNowNs();
  return clock_.UnixNs(SteadyNowNs(), [this]() -> Result<int64_t> {
    int64_t ahead_ns = 0;
    ATTUNE_RETURN_IF_ERROR(Read([&](DatabaseSession& session) -> Status {
      const int64_t asked_ns = SteadyNowNs();
      const std::string& question = session.connection->engine().texts().now_us;
      ATTUNE_ASSIGN_OR_RETURN(const auto answer, session.connection->Texts(question));
      int64_t now_us = 0;
      const std::string text = answer.empty() ? "" : answer.front();
      if (std::from_chars(text.data(), text.data() + text.size(), now_us).ec != std::errc()) {
        return Internal(fmt::format("The server of database '{}' does not tell the time.", name_));
      }
      // Assumes that the server answered in the middle of the round trip.
      ahead_ns = 1000 * now_us - (asked_ns + SteadyNowNs()) / 2;
      return Status::Ok();
    }));
    return ahead_ns;
  });
}

Result<sql::AliveMark> SqlDatabase::Mark(int64_t number) {
  if (server_ == nullptr) return sql::AliveMark::Set(path_.string(), number);
  ATTUNE_ASSIGN_OR_RETURN(auto connection, Connect());
  return sql::AliveMark::Set(std::move(connection), number);
}

bool SqlDatabase::IsMarked(int64_t number) {
  if (server_ == nullptr) return sql::AliveMark::IsSet(path_.string(), number);
  const auto connection = Connect();
  return !connection.ok() || sql::AliveMark::IsSet(**connection, number).value_or(true);
}

void SqlDatabase::DropIdle() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
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
  ATTUNE_ASSIGN_OR_RETURN(auto connection, Connect());
  return std::make_unique<DatabaseSession>(std::move(connection));
}

void SqlDatabase::GiveBack(std::unique_ptr<DatabaseSession> session) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdleSessions) idle_.push_back(std::move(session));
}

Status SqlDatabase::Write(const std::function<Status(DatabaseSession&, WriteTransaction&)>& body) {
  if (options_.access != Access::kWrite) {
    return FailedPrecondition(fmt::format("Database '{}' was opened to be read only.", name_));
  }
  QueuedWrite write;
  write.body = [&] {
    return Repeatedly(Purpose::kWrite, [&](sql::Fault& fault) { return CommitNow(body, fault); });
  };
  writes_.Run(write, [this](const std::function<void()>& run_next) {
    if (server_ != nullptr) return run_next();
    const WriteTurn turn = WriteTurn::Take(path_.string(), options_.busy_timeout);
    run_next();
  });
  if (on_write_lock_ != nullptr) on_write_lock_(write.began_ns - write.asked_ns);
  ATTUNE_RETURN_IF_ERROR(write.status);
  if (server_ != nullptr) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(log_.Sync());
  TidyLog();
  return Status::Ok();
}

void SqlDatabase::NoteAway(Purpose purpose, const Status& why) {
  if (reconnecting_.outages == nullptr) return;
  if (purpose == Purpose::kWrite) is_away_to_write_ = true;
  reconnecting_.outages->Away(kTheDatabase, why.message(), SteadyNowNs());
}

void SqlDatabase::NoteThere(Purpose purpose) {
  if (reconnecting_.outages == nullptr) return;
  if (purpose == Purpose::kRead && is_away_to_write_) return;
  is_away_to_write_ = false;
  reconnecting_.outages->There(kTheDatabase, SteadyNowNs());
}

Status SqlDatabase::Repeatedly(Purpose purpose, const std::function<Status(sql::Fault&)>& attempt) {
  constexpr std::chrono::milliseconds kFirstPause{10};
  constexpr std::chrono::milliseconds kLongestPause{1000};
  const auto deadline = std::chrono::steady_clock::now() + reconnecting_.patience;
  for (std::chrono::milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    sql::Fault fault = sql::Fault::kFinal;
    Status status = attempt(fault);
    if (status.ok()) NoteThere(purpose);
    // Also if it cannot be retried here, such as a commit that may have succeeded.
    const bool is_away =
        status.code() == StatusCode::kUnavailable && fault != sql::Fault::kConflict;
    if (is_away) NoteAway(purpose, status);
    if (status.ok() || server_ == nullptr || fault == sql::Fault::kFinal) return status;
    if (std::chrono::steady_clock::now() + pause > deadline) return status;
    if (fault == sql::Fault::kLost) DropIdle();
    std::this_thread::sleep_for(pause);
  }
}

Status SqlDatabase::CommitNow(
    const std::function<Status(DatabaseSession&, WriteTransaction&)>& body, sql::Fault& fault) {
  auto session = Borrow();
  if (!session.ok()) {
    const bool may_pass = session.error().code() == StatusCode::kUnavailable;
    fault = may_pass ? sql::Fault::kLost : sql::Fault::kFinal;
    return session.error();
  }
  const auto commit = [&]() -> Status {
    ATTUNE_ASSIGN_OR_RETURN(WriteTransaction transaction,
                            WriteTransaction::Begin(*(*session)->connection));
    ATTUNE_RETURN_IF_ERROR(body(**session, transaction));
    return transaction.Commit();
  };
  Status status = commit();
  if (!status.ok()) {
    fault = (*session)->connection->fault();
    return status;
  }
  log_pages_ = (*session)->connection->log_pages();
  GiveBack(std::move(*session));
  return status;
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

Result<std::unique_ptr<DatabaseSession>> SqlDatabase::BeginReading(sql::Fault& fault) {
  auto session = Borrow();
  if (!session.ok()) {
    const bool may_pass = session.error().code() == StatusCode::kUnavailable;
    fault = may_pass ? sql::Fault::kLost : sql::Fault::kFinal;
    return session;
  }
  const Status begun = (*session)->connection->BeginRead();
  if (begun.ok()) return session;
  fault = (*session)->connection->fault();
  return begun;
}

Status SqlDatabase::Read(const std::function<Status(DatabaseSession&)>& body) {
  std::unique_ptr<DatabaseSession> session;
  // `body` is not repeated, because it may have delivered results already.
  ATTUNE_RETURN_IF_ERROR(Repeatedly(Purpose::kRead, [&](sql::Fault& fault) -> Status {
    ATTUNE_ASSIGN_OR_RETURN(session, BeginReading(fault));
    return Status::Ok();
  }));
  ATTUNE_RETURN_IF_ERROR(body(*session));
  ATTUNE_RETURN_IF_ERROR(session->connection->Commit());
  GiveBack(std::move(session));
  return Status::Ok();
}

}  // namespace attune
