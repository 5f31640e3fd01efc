// The URL of a database on a server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::sql {

// "SCHEME://USER@HOST[:PORT]/DATABASE[?NAME=VALUE&...]". In every part %XX encodes a byte.
struct ServerUrl {
  std::string scheme;
  std::string user;
  std::string host;   // A name, an address without brackets, or the path of a folder with a socket.
  uint16_t port = 0;  // 0 for the default port.
  std::string database;
  std::map<std::string, std::string> options;

  // For display, without a password.
  std::string Text() const;
};

// kInvalidArgument names the missing or malformed part. For a URL with a password it names the
// right place for the password, without repeating it.
Result<ServerUrl> ParseServerUrl(std::string_view url);

// The first line of the file that ATTUNE_DB_PASSWORD_FILE names, else ATTUNE_DB_PASSWORD, else
// empty. Fails if the file cannot be read; kFailedPrecondition if the file is readable for all
// users, or if the line is empty.
Result<std::string> ServerPassword();

// `text` with %XX for every byte that a part of a URL must not have.
std::string PercentEncoded(std::string_view text);

// `value` in quotes, as connection strings of SOCI's backend for MySQL have it.
std::string QuotedValue(std::string_view value);

}  // namespace attune::sql
