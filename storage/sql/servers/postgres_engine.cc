#include "storage/sql/servers/postgres_engine.h"

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/never_destroyed.h"
#include "storage/sql/connection.h"
#include "storage/sql/servers/dialect.h"
#include "storage/sql/servers/soci_server_headers.h"

namespace attune::sql {
namespace {

// An otherwise unused advisory lock of this database; numbers of marks are above 2^61.
constexpr int64_t kSchemaLock = 0x617474756e65;

// Without this, a host that lost its network during a write would block all others until TCP gives
// up, after two hours.
constexpr int kKeepaliveIdleS = 10;
constexpr int kKeepaliveIntervalS = 5;
constexpr int kKeepaliveCount = 3;
constexpr int kIdleWriteS = 60;
constexpr int kConnectS = 5;

EngineTexts MakeTexts() {
  EngineTexts texts;
  texts.tables =
      "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename";
  // One transaction at a time, so that reads after the lock see the committed state.
  texts.begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED";
  texts.begin_read = {"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                      "SET LOCAL idle_in_transaction_session_timeout = 0"};
  texts.lock_counter = " FOR UPDATE";
  texts.rows_at_once = 4096;
  texts.lock_schema =
      fmt::format("SELECT 1 FROM (SELECT pg_advisory_xact_lock({})) AS held", kSchemaLock);
  texts.now_us =
      "SELECT CAST(CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS TEXT)";
  // A migration is one transaction. From here on no process writes its tables in the older form.
  texts.resume = {"SELECT value FROM counter WHERE id = 1 FOR UPDATE"};
  texts.mark = "SELECT CASE WHEN pg_try_advisory_lock_shared({}) THEN 1 ELSE 0 END";
  texts.is_marked = "SELECT CASE WHEN pg_try_advisory_xact_lock({}) THEN 0 ELSE 1 END";
  return texts;
}

// A URL, without blanks and with an option. SOCI looks for its own options: it splits the string at
// blanks, ignores quotes, and puts a "=" into each piece that has none. In this form it finds
// nothing.
std::string ConnectionString(const ServerLogin& login) {
  const ServerUrl& url = login.url;
  const bool is_address = url.host.find(':') != std::string::npos;
  std::string text = "postgresql://" + PercentEncoded(url.user);
  if (!login.password.empty()) text += ":" + PercentEncoded(login.password);
  text += "@" + (is_address ? fmt::format("[{}]", url.host) : PercentEncoded(url.host));
  if (url.port != 0) text += fmt::format(":{}", url.port);
  text += fmt::format(
      "/{}?application_name=attune&client_encoding=UTF8&connect_timeout={}&keepalives_idle={}&"
      "keepalives_interval={}&keepalives_count={}&tcp_user_timeout={}",
      PercentEncoded(url.database), kConnectS, kKeepaliveIdleS, kKeepaliveIntervalS,
      kKeepaliveCount, 1000 * (kKeepaliveIdleS + kKeepaliveIntervalS * kKeepaliveCount));
  for (const auto& [name, value] : url.options) {
    text += fmt::format("&{}={}", name, PercentEncoded(value));
  }
  return text;
}

// Elements of the arrays of one column, as a text: '{1,"a \\"b\\"",NULL}'.
void AddElement(const Cell& cell, std::string& array) {
  if (array.size() > 1) array += ',';
  if (cell.is_null) {
    array += "NULL";
  } else if (cell.type == CellType::kInteger) {
    fmt::format_to(std::back_inserter(array), "{}", cell.integer);
  } else if (cell.type == CellType::kReal) {
    fmt::format_to(std::back_inserter(array), "{}", cell.real);
  } else {
    array += '"';
    for (const char c : cell.text) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
}

std::string_view ArrayOf(CellType type) {
  switch (type) {
    case CellType::kInteger:
      return "BIGINT[]";
    case CellType::kReal:
      return "DOUBLE PRECISION[]";
    case CellType::kText:
      return "TEXT[]";
  }
  return "";
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Why no connection was made. libpq gives no code, so this searches the server's message: known
// words for failures that pass by themselves, and "FATAL" for all others.
Status NoConnection(const std::string& name, const std::string& said) {
  if (Has(said, "certificate")) return NotTrusted(name, "sslrootcert", said).status;
  if (Has(said, "does not support SSL")) return NotTrusted(name, "sslmode", said).status;
  // libpq reports bad options in these words before it looks for a server; a server never uses
  // them.
  if (Has(said, "invalid") && !Has(said, "FATAL") && !Has(said, "response")) {
    return InvalidArgument(fmt::format(
        "The URL of database '{}' has an option that is not understood: {}. See what stands behind "
        "its '?'.",
        name, said));
  }
  const bool is_answered = Has(said, "FATAL") || Has(said, "no password supplied");
  for (const char* passing :
       {"starting up", "shutting down", "terminating", "too many", "recovery", "reserved"}) {
    if (Has(said, passing)) return Unavailable(fmt::format("Database '{}': {}", name, said));
  }
  if (!is_answered) return Unreachable(name, said).status;
  return FailedPrecondition(fmt::format(
      "The server of database '{}' refuses the connection: {}. Check the user, the database, and "
      "the password (ATTUNE_DB_PASSWORD_FILE, ATTUNE_DB_PASSWORD or PGPASSFILE).",
      name, said));
}

class PostgresEngine final : public Engine {
 public:
  explicit PostgresEngine(ServerLogin login) : login_(std::move(login)), name_(login_.url.Text()) {}

  const std::string& name() const override { return name_; }
  const EngineTexts& texts() const override {
    static const NeverDestroyed<EngineTexts> texts(MakeTexts());
    return *texts;
  }

  Status Open(Connection& connection) override {
    try {
      connection.session().open(soci::postgresql, ConnectionString(login_));
    } catch (const soci::soci_error& error) {
      return NoConnection(name_, Said(error));
    } catch (const std::exception& error) {
      return Internal(fmt::format("Database '{}' cannot be opened: {}.", name_, error.what()));
    }
    const std::string settings[] = {
        fmt::format("SET lock_timeout = {}", login_.patience.lock.count()),
        fmt::format("SET idle_in_transaction_session_timeout = '{}s'", kIdleWriteS),
        fmt::format("SET tcp_keepalives_idle = {}", kKeepaliveIdleS),
        fmt::format("SET tcp_keepalives_interval = {}", kKeepaliveIntervalS),
        fmt::format("SET tcp_keepalives_count = {}", kKeepaliveCount), "SET extra_float_digits = 1",
        // A plan is kept as long as the connection: one made while a table was small would read all
        // of it for ever. Every query has its index.
        "SET enable_seqscan = off",
        // A query without an index then costs so much that compiling it would pay.
        "SET jit = off", "SET client_min_messages = warning"};
    for (const std::string& setting : settings) {
      ATTUNE_RETURN_IF_ERROR(connection.Execute(setting));
    }
    return Status::Ok();
  }

  std::string Adapted(std::string_view sql) const override {
    if (!sql.starts_with("CREATE TABLE")) return std::string(sql);
    return WithWords(sql, [](std::string_view word, std::string_view) -> std::string {
      if (word == "INTEGER") return "BIGINT";
      if (word == "REAL") return "DOUBLE PRECISION";
      if (word == "TEXT") return "TEXT COLLATE \"C\"";
      if (word == "STRICT") return "";
      return std::string(word);
    });
  }

  std::string InsertIfNewSql(const Table& table, std::string_view unique_columns) const override {
    return fmt::format("{} ON CONFLICT ({}) DO NOTHING", table.insert_sql, unique_columns);
  }

  // A column of all rows is one parameter. With one parameter per value, inserting several rows
  // would spend most of its time on parameters.
  RowsStatement InsertRows(const Table& table, std::span<const Row> rows,
                           SameId same_id) const override {
    RowsStatement statement;
    statement.row_count = CountAtOnce(rows);
    std::string arrays;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      Cell& column = statement.parameters.emplace_back();
      column.type = CellType::kText;
      column.text = "{";
      for (const Row& row : rows.first(statement.row_count)) AddElement(row[i], column.text);
      column.text += '}';
      arrays +=
          fmt::format("{}CAST(:p{} AS {})", i == 0 ? "" : ", ", i, ArrayOf(table.columns[i].type));
    }
    statement.sql =
        fmt::format("INSERT INTO {} ({}) SELECT * FROM unnest({}){}", table.name,
                    ColumnList(table, table.columns.size()), arrays, BehindRows(table, same_id));
    return statement;
  }

  Status CheckDefinitions(Connection& connection,
                          std::span<const Migration> migrations) const override {
    ATTUNE_ASSIGN_OR_RETURN(
        const auto found,
        connection.Texts(
            "SELECT c.relname || '.' || a.attname || ' ' || t.typname || COALESCE(' ' "
            "|| l.collname, '') FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = "
            "a.attrelid JOIN pg_type AS t ON t.oid = a.atttypid LEFT JOIN pg_collation "
            "AS l ON l.oid = a.attcollation WHERE c.relnamespace = "
            "CAST(current_schema() AS regnamespace) AND c.relkind = 'r' AND a.attnum > "
            "0 AND NOT a.attisdropped"));
    return CheckColumns(connection, migrations, found,
                        [](const Table& table, const Column& column) {
                          const std::string_view type = column.type == CellType::kInteger ? "int8"
                                                        : column.type == CellType::kReal  ? "float8"
                                                                                         : "text C";
                          return fmt::format("{}.{} {}", table.name, column.name, type);
                        });
  }

  EngineFailure Translated(soci::session&, const std::exception& error,
                           std::string_view sql) const override {
    if (const auto* known = dynamic_cast<const soci::postgresql_soci_error*>(&error)) {
      return OfCode(known->sqlstate(), Said(*known), sql);
    }
    return {Internal(fmt::format("Database '{}': {} (in: {})", name_, error.what(), sql))};
  }

 private:
  // Appendix A of PostgreSQL's manual.
  EngineFailure OfCode(const std::string& code, const std::string& said,
                       std::string_view sql) const {
    const std::string_view kind = std::string_view(code).substr(0, 2);
    if (code.empty() || code[0] < '0' || kind == "08" || code == "57P01" || code == "57P02" ||
        code == "57P03" || code == "25P03" || code == "53300") {
      return ConnectionLost(name_, said);
    }
    if (kind == "40") return GaveWay(name_, said);
    if (code == "55P03") {
      return {Unavailable(fmt::format(
          "Database '{}' has been locked by another process for more than {} ms. Try again; "
          "pg_stat_activity shows which one it is.",
          name_, login_.patience.lock.count()))};
    }
    if (kind == "53") return NoSpaceLeft(name_, said);
    if (code == "25006") return ReadOnly(name_, "default_transaction_read_only", said);
    if (code == "57014") return Interrupted(name_, said);
    if (code == "42501") return NotGranted(name_, login_.url.user, said);
    if (kind == "23" || kind == "42" || kind == "XX") {
      return {DataLoss(fmt::format("Database '{}' is damaged: {} (in: {}).", name_, said, sql))};
    }
    return {
        Internal(fmt::format("Database '{}': {} (SQLSTATE {}, in: {})", name_, said, code, sql))};
  }

  const ServerLogin login_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Engine> NewPostgresEngine(const ServerLogin& login) {
  return std::make_unique<PostgresEngine>(login);
}

}  // namespace attune::sql
