#include "storage/sql/servers/database_servers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "storage/sql/engine.h"
#include "storage/sql/servers/maria_engine.h"
#include "storage/sql/servers/postgres_engine.h"
#include "storage/sql/servers/server_login.h"

namespace attune {
namespace {

using sql::Engine;
using sql::ServerLogin;

using MakeEngine = std::unique_ptr<Engine> (*)(const ServerLogin& login);

class Server final : public sql::DatabaseServer {
 public:
  Server(ServerLogin login, MakeEngine make)
      : name_(login.url.Text()), login_(std::move(login)), make_(make) {}

  const std::string& name() const override { return name_; }
  std::unique_ptr<Engine> NewEngine() const override { return make_(login_); }

 private:
  const std::string name_;
  const ServerLogin login_;
  const MakeEngine make_;
};

struct Kind {
  std::array<std::string_view, 2> schemes;
  MakeEngine make;
  std::array<std::string_view, 4> options;  // Those of TLS.
};

constexpr Kind kKinds[] = {
    {{"postgresql", "postgres"},
     sql::NewPostgresEngine,
     {"sslmode", "sslrootcert", "sslcert", "sslkey"}},
    {{"mysql", "mariadb"}, sql::NewMariaEngine, {"sslca", "sslcert", "sslkey", "socket"}},
};

bool IsAmong(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<std::unique_ptr<sql::DatabaseServer>> DatabaseServerAt(const std::string& url,
                                                              const sql::ServerPatience& patience) {
  const std::string_view scheme = std::string_view(url).substr(0, url.find("://"));
  const Kind* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& each) { return IsAmong(each.schemes, scheme); });
  if (kind == std::end(kKinds)) {
    return Unsupported(fmt::format(
        "There is no database of the kind '{}://'. attune uses a file (a path or sqlite:PATH), "
        "postgresql://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE.",
        scheme.substr(0, 20)));
  }
  ServerLogin login;
  ATTUNE_ASSIGN_OR_RETURN(login.url, sql::ParseServerUrl(url));
  for (const auto& [name, value] : login.url.options) {
    if (IsAmong(kind->options, name)) continue;
    return InvalidArgument(
        fmt::format("The URL of the database has the option '{}'; for {}:// "
                    "there are {}.",
                    name, scheme, fmt::join(kind->options, ", ")));
  }
  ATTUNE_ASSIGN_OR_RETURN(login.password, sql::ServerPassword());
  login.patience = patience;
  return std::unique_ptr<sql::DatabaseServer>(
      std::make_unique<Server>(std::move(login), kind->make));
}

}  // namespace attune
