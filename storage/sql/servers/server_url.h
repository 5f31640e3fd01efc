// Where a database on a server is, as people write it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::sql {

// "SCHEME://USER@HOST[:PORT]/DATABASE[?NAME=VALUE&...]". In every part %XX stands for a byte.
struct ServerUrl {
  std::string scheme;
  std::string user;
  std::string host;   // A name, an address without brackets, or the path of a folder with a socket.
  uint16_t port = 0;  // 0 for the usual one.
  std::string database;
  std::map<std::string, std::string> options;

  // As it is shown; it has no password.
  std::string Text() const;
};

// kInvalidArgument says what is missing or cannot be read, and for a URL with a password where that
// belongs, without repeating it.
Result<ServerUrl> ParseServerUrl(std::string_view url);

// The first line of the file that ATTUNE_DB_PASSWORD_FILE names, else ATTUNE_DB_PASSWORD, else
// empty. Fails if the file cannot be read; kFailedPrecondition if everybody can read it, or if the
// line is empty.
Result<std::string> ServerPassword();

// `text` with %XX for every byte that a part of a URL must not have.
std::string PercentEncoded(std::string_view text);

// `value` in quotes, as connection strings of SOCI's backend for MySQL have it.
std::string QuotedValue(std::string_view value);

}  // namespace attune::sql
