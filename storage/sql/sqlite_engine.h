// SQLite: a file that this process reads and writes itself.
#pragma once

#include <sys/stat.h>

#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/engine.h"

namespace attune::sql {

class SqliteEngine final : public Engine {
 public:
  // Sets `log_pages` to the number of pages of the log after each commit; it must outlive the
  // session.
  SqliteEngine(std::string path, const ConnectionOptions& options, int& log_pages);

  const std::string& name() const override { return name_; }
  const EngineTexts& texts() const override;
  Status Open(Connection& connection) override;
  std::string Adapted(std::string_view sql) const override { return std::string(sql); }
  std::string InsertIfNewSql(const Table& table, std::string_view unique_columns) const override;
  Status CheckDefinitions(Connection& connection,
                          std::span<const Migration> migrations) const override;
  EngineFailure Translated(soci::session& session, const std::exception& error,
                           std::string_view sql) const override;

  // For Access::kReadFile: kUnavailable if the file has changed since it was opened.
  Status CheckUnchanged() const;

 private:
  Status Configure(Connection& connection);
  Status UseLog(Connection& connection) const;
  Status CannotOpen(const std::string& reason) const;
  Status Meaning(soci::session& session, const std::exception& error, std::string_view sql) const;

  const std::string name_;
  const ConnectionOptions options_;
  int& log_pages_;
  struct stat opened_file_ {};  // For Access::kReadFile.
};

}  // namespace attune::sql
