#include "storage/sql/servers/maria_engine.h"

#include <mysqld_error.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "storage/sql/connection.h"
#include "storage/sql/servers/dialect.h"
#include "storage/sql/servers/soci_server_headers.h"

namespace attune::sql {
namespace {

// As in postgres_engine.cc.
constexpr int kIdleWriteS = 60;
constexpr int kConnectS = 5;
constexpr int kAnswerS = 120;

// An index has room for 3072 bytes, and may contain two of these.
constexpr int kLongestIndexedText = 1000;
constexpr std::array<std::string_view, 7> kIndexedTexts = {"key",  "label", "name",  "role",
                                                           "step", "state", "solver"};

bool IsIndexed(std::string_view column) {
  return std::find(kIndexedTexts.begin(), kIndexedTexts.end(), column) != kIndexedTexts.end();
}

// Locks have a name on the whole server, of up to 64 bytes.
std::string LockName(const ServerLogin& login, std::string_view what) {
  return fmt::format("attune.{}.{}", FingerprintOf(login.url.database).ToHex(), what);
}

int SecondsOf(const ServerLogin& login) {
  return static_cast<int>(std::max<int64_t>(1, (login.patience.lock.count() + 999) / 1000));
}

EngineTexts MakeTexts(const ServerLogin& login) {
  EngineTexts texts;
  texts.tables =
      "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY "
      "table_name";
  texts.begin_write = "START TRANSACTION";
  texts.begin_read = {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                      "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"};
  texts.lock_counter = " FOR UPDATE";
  texts.drop_index = "DROP INDEX IF EXISTS {0} ON {1}";
  texts.use_index = " FORCE INDEX ({})";
  const std::string schema = LockName(login, "schema");
  texts.lock_schema = fmt::format("SELECT GET_LOCK('{}', {})", schema, SecondsOf(login));
  texts.unlock_schema = fmt::format("SELECT RELEASE_LOCK('{}')", schema);
  // Each definition commits. Filling tables and recording the migration are one transaction again.
  // An interrupted migration is repeated; CREATE ... IF NOT EXISTS makes nothing twice.
  texts.resume = {"START TRANSACTION", "SELECT value FROM counter WHERE id = 1 FOR UPDATE"};
  texts.mark = fmt::format("SELECT GET_LOCK('{}', 0)", LockName(login, "{}"));
  texts.now_us = "SELECT CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS CHAR)";
  texts.rows_at_once = 64;
  texts.replaced_rows = " ON DUPLICATE KEY UPDATE {}";
  texts.replaced_column = "{0} = VALUES({0})";
  texts.is_marked = fmt::format("SELECT IF(IS_FREE_LOCK('{}'), 0, 1)", LockName(login, "{}"));
  return texts;
}

std::string ConnectionString(const ServerLogin& login) {
  std::string text = fmt::format("db={} user={} host={}", QuotedValue(login.url.database),
                                 QuotedValue(login.url.user), QuotedValue(login.url.host));
  if (login.url.port != 0) text += fmt::format(" port={}", login.url.port);
  if (!login.password.empty()) text += " password=" + QuotedValue(login.password);
  for (const auto& [name, value] : login.url.options) {
    text += fmt::format(" {}={}", name == "socket" ? "unix_socket" : name, QuotedValue(value));
  }
  return text + fmt::format(" charset=utf8mb4 connect_timeout={} read_timeout={} write_timeout={}",
                            kConnectS, kAnswerS, kAnswerS);
}

bool IsAmong(unsigned code, std::initializer_list<unsigned> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// Returns true if a TLS failure is about a certificate; others are lost connections.
bool IsAboutTrust(std::string_view said) {
  return said.find("certificate") != std::string_view::npos ||
         said.find("issuer") != std::string_view::npos;
}

// Read-only server, InnoDB or transactions. Other options that prevent a statement share this code.
bool IsReadOnly(unsigned code, std::string_view said) {
  if (code == ER_OPTION_PREVENTS_STATEMENT) return said.find("read-only") != std::string_view::npos;
  return IsAmong(
      code, {ER_READ_ONLY_MODE, ER_OPEN_AS_READONLY, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION});
}

// Rows or tables differ from those that this program made.
bool IsDamage(unsigned code) {
  const bool is_of_rows =
      IsAmong(code, {ER_BAD_NULL_ERROR, ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME,
                     ER_NO_REFERENCED_ROW_2, ER_ROW_IS_REFERENCED_2, ER_CONSTRAINT_FAILED});
  const bool is_of_definitions =
      IsAmong(code, {ER_BAD_FIELD_ERROR, ER_PARSE_ERROR, ER_NO_SUCH_TABLE,
                     ER_NO_SUCH_TABLE_IN_ENGINE, ER_TABLESPACE_MISSING, ER_TABLESPACE_DISCARDED});
  const bool is_of_files =
      IsAmong(code, {ER_NOT_FORM_FILE, ER_NOT_KEYFILE, ER_CRASHED_ON_USAGE, ER_CRASHED_ON_REPAIR,
                     ER_INDEX_CORRUPT, ER_INNODB_INDEX_CORRUPT, ER_TABLE_CORRUPT, ER_FILE_CORRUPT});
  return is_of_rows || is_of_definitions || is_of_files;
}

class MariaEngine final : public Engine {
 public:
  explicit MariaEngine(ServerLogin login)
      : login_(std::move(login)), name_(login_.url.Text()), texts_(MakeTexts(login_)) {}

  const std::string& name() const override { return name_; }
  const EngineTexts& texts() const override { return texts_; }

  Status Open(Connection& connection) override {
    try {
      connection.session().open(soci::mysql, ConnectionString(login_));
    } catch (const soci::mysql_soci_error& error) {
      return OfCode(error.err_num_, Said(error), "connecting").status;
    } catch (const std::exception& error) {
      return Internal(fmt::format("Database '{}' cannot be opened: {}.", name_, error.what()));
    }
    ATTUNE_RETURN_IF_ERROR(CheckTls(connection));
    const std::string settings[] = {
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        fmt::format("SET SESSION innodb_lock_wait_timeout = {}", SecondsOf(login_)),
        fmt::format("SET SESSION lock_wait_timeout = {}", SecondsOf(login_)),
        fmt::format("SET SESSION idle_write_transaction_timeout = {}", kIdleWriteS)};
    for (const std::string& setting : settings) {
      ATTUNE_RETURN_IF_ERROR(connection.Execute(setting));
    }
    return Status::Ok();
  }

  std::string Adapted(std::string_view sql) const override {
    const bool defines = sql.starts_with("CREATE TABLE");
    const bool indexes = sql.starts_with("CREATE INDEX");
    return WithWords(sql, [&](std::string_view word, std::string_view before) -> std::string {
      if (word == "key") return "`key`";
      if (defines && word == "INTEGER") return "BIGINT";
      if (defines && word == "REAL") return "DOUBLE";
      if (defines && word == "TEXT") {
        return IsIndexed(before) ? fmt::format("VARCHAR({})", kLongestIndexedText) : "LONGTEXT";
      }
      // NOPAD: otherwise comparisons ignore blanks at the end of a text.
      if (defines && word == "STRICT") {
        return "ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET ascii COLLATE ascii_nopad_bin";
      }
      if ((defines && word == "TABLE") || (indexes && word == "INDEX")) {
        return fmt::format("{} IF NOT EXISTS", word);
      }
      return std::string(word);
    });
  }

  // INSERT IGNORE would hide every other failure, too, and ON DUPLICATE KEY UPDATE does not report
  // which of the two it did. No other process writes meanwhile.
  std::string InsertIfNewSql(const Table& table, std::string_view unique_columns) const override {
    std::string values;
    std::string is_there;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::string_view name = table.columns[i].name;
      values += fmt::format("{}:p{}", i == 0 ? "" : ", ", i);
      if (!IsListed(unique_columns, name)) continue;
      is_there += fmt::format("{}present.{} = :p{}", is_there.empty() ? "" : " AND ", name, i);
    }
    return fmt::format(
        "INSERT INTO {0} ({1}) SELECT {2} FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM {0} AS present "
        "WHERE {3})",
        table.name, ColumnList(table, table.columns.size()), values, is_there);
  }

  Status CheckDefinitions(Connection& connection,
                          std::span<const Migration> migrations) const override {
    ATTUNE_ASSIGN_OR_RETURN(
        const auto found,
        connection.Texts("SELECT CONCAT(table_name, '.', column_name, ' ', data_type, "
                         "COALESCE(CONCAT(' ', collation_name), '')) FROM "
                         "information_schema.columns WHERE table_schema = DATABASE()"));
    return CheckColumns(
        connection, migrations, found, [](const Table& table, const Column& column) {
          const std::string_view type = column.type == CellType::kInteger ? "bigint"
                                        : column.type == CellType::kReal  ? "double"
                                        : IsIndexed(column.name) ? "varchar ascii_nopad_bin"
                                                                 : "longtext ascii_nopad_bin";
          return fmt::format("{}.{} {}", table.name, column.name, type);
        });
  }

  EngineFailure Translated(soci::session&, const std::exception& error,
                           std::string_view sql) const override {
    if (const auto* known = dynamic_cast<const soci::mysql_soci_error*>(&error)) {
      return OfCode(known->err_num_, Said(*known), sql);
    }
    return {Internal(fmt::format("Database '{}': {} (in: {})", name_, error.what(), sql))};
  }

 private:
  // The client library falls back to no TLS where the server has none, despite its settings.
  Status CheckTls(Connection& connection) const {
    const auto& options = login_.url.options;
    const bool asks = std::any_of(options.begin(), options.end(),
                                  [](const auto& option) { return option.first == "sslca"; });
    if (!asks) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(
        const auto ciphers,
        connection.Texts("SELECT variable_value FROM information_schema.session_status WHERE "
                         "variable_name = 'SSL_CIPHER'"));
    if (!ciphers.empty() && !ciphers.front().empty()) return Status::Ok();
    return NotTrusted(name_, "sslca", "it offers no TLS").status;
  }

  static bool IsListed(std::string_view list, std::string_view name) {
    for (size_t begin = 0; begin < list.size();) {
      const size_t end = std::min(list.find(", ", begin), list.size());
      if (list.substr(begin, end - begin) == name) return true;
      begin = end + 2;
    }
    return false;
  }

  // Codes of the server, and from 2000 on those of the client library.
  EngineFailure OfCode(unsigned code, const std::string& said, std::string_view sql) const {
    if (IsAmong(code, {CR_CONNECTION_ERROR, CR_CONN_HOST_ERROR, CR_UNKNOWN_HOST, ER_CON_COUNT_ERROR,
                       ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED})) {
      return Unreachable(name_, said);
    }
    if (code == CR_SSL_CONNECTION_ERROR && IsAboutTrust(said)) {
      return NotTrusted(name_, "sslca", said);
    }
    if ((code >= CR_MIN_ERROR && code < 3000) ||
        IsAmong(code, {ER_SERVER_SHUTDOWN, ER_CONNECTION_KILLED, ER_NET_READ_ERROR})) {
      return ConnectionLost(name_, said);
    }
    if (IsAmong(code, {ER_LOCK_DEADLOCK, ER_CHECKREAD})) return GaveWay(name_, said);
    if (code == ER_LOCK_WAIT_TIMEOUT) {
      return {Unavailable(fmt::format(
          "Database '{}' has been locked by another process for more than {} s. Try again; SHOW "
          "PROCESSLIST shows which one it is.",
          name_, SecondsOf(login_)))};
    }
    if (IsAmong(code, {ER_ACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR})) {
      return {FailedPrecondition(fmt::format(
          "The server of database '{}' refuses the connection: {}. Check the user, the database, "
          "and the password (ATTUNE_DB_PASSWORD_FILE or ATTUNE_DB_PASSWORD).",
          name_, said))};
    }
    return OfStatement(code, said, sql);
  }

  EngineFailure OfStatement(unsigned code, const std::string& said, std::string_view sql) const {
    if (IsAmong(code, {ER_DISK_FULL, ER_RECORD_FILE_FULL, ER_OUTOFMEMORY, ER_OUT_OF_RESOURCES})) {
      return NoSpaceLeft(name_, said);
    }
    if (IsReadOnly(code, said)) return ReadOnly(name_, "read_only and tx_read_only", said);
    if (IsAmong(code, {ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT})) {
      return Interrupted(name_, said);
    }
    if (IsAmong(code, {ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR,
                       ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_OPTION_PREVENTS_STATEMENT})) {
      return NotGranted(name_, login_.url.user, said);
    }
    if (IsDamage(code)) {
      return {DataLoss(
          fmt::format("Database '{}' is damaged: {} (error {}, in: {}).", name_, said, code, sql))};
    }
    return {Internal(fmt::format("Database '{}': {} (error {}, in: {})", name_, said, code, sql))};
  }

  const ServerLogin login_;
  const std::string name_;
  const EngineTexts texts_;
};

}  // namespace

std::unique_ptr<Engine> NewMariaEngine(const ServerLogin& login) {
  return std::make_unique<MariaEngine>(login);
}

}  // namespace attune::sql
