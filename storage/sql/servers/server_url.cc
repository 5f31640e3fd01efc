#include "storage/sql/servers/server_url.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/password.h"

namespace attune::sql {
namespace {

constexpr size_t kLongestUrl = 4096;
constexpr std::string_view kForm = "SCHEME://USER@HOST[:PORT]/DATABASE";

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Nothing for a '%' without two digits, and for control characters, which no part of a URL needs.
std::optional<std::string> Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = HexDigit(text[i + 1]);
      const auto low = HexDigit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      c = static_cast<char>(*high * 16 + *low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return std::nullopt;
    plain += c;
  }
  return plain;
}

// Removes the text before `separator`, and the separator, from `rest` and returns the text; all of
// `rest` if there is none.
std::string_view TakeUntil(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view taken = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return taken;
}

Status TakePart(std::string_view what, std::string_view text, std::string& part) {
  std::optional<std::string> plain = Unescaped(text);
  if (plain.has_value() && !plain->empty()) {
    part = std::move(*plain);
    return Status::Ok();
  }
  return InvalidArgument(fmt::format(
      "The {} in the URL of the database is {}; a URL is {}, in which %XX stands for a byte.", what,
      text.empty() ? "missing" : "not readable", kForm));
}

// "host", "host:5432", "[::1]:5432".
Status TakeHost(std::string_view text, ServerUrl& url) {
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return InvalidArgument(
          "The address of the host in the URL of the database begins with '[' and has no ']'.");
    }
    port = text.substr(end + 1);
    if (!port.empty() && port[0] != ':') {
      return InvalidArgument(
          "Behind the ']' in the URL of the database stands neither ':' with a port nor '/'.");
    }
    if (!port.empty()) port.remove_prefix(1);
    text = text.substr(1, end - 1);
  } else {
    port = text;
    text = TakeUntil(port, ':');
  }
  ATTUNE_RETURN_IF_ERROR(TakePart("host", text, url.host));
  if (port.empty()) return Status::Ok();
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error == std::errc() && end == port.data() + port.size() && url.port != 0) {
    return Status::Ok();
  }
  return InvalidArgument(
      fmt::format("The port '{}' in the URL of the database is no number from 1 to 65535.",
                  port.substr(0, 20)));
}

Status TakeOptions(std::string_view text, ServerUrl& url) {
  while (!text.empty()) {
    std::string_view value = TakeUntil(text, '&');
    const std::string_view name = TakeUntil(value, '=');
    std::string plain_name;
    std::string plain_value;
    ATTUNE_RETURN_IF_ERROR(TakePart("name of an option", name, plain_name));
    if (plain_name == "password") {
      return InvalidArgument(
          "The URL of the database holds a password, which everybody on this machine can read. Put "
          "it into a file that only you can read, and name that in ATTUNE_DB_PASSWORD_FILE.");
    }
    ATTUNE_RETURN_IF_ERROR(TakePart(fmt::format("option {}", plain_name), value, plain_value));
    if (!url.options.emplace(plain_name, plain_value).second) {
      return InvalidArgument(
          fmt::format("The URL of the database has the option {} twice.", plain_name));
    }
  }
  return Status::Ok();
}

}  // namespace

std::string ServerUrl::Text() const {
  const bool is_address = host.find(':') != std::string::npos;
  std::string text = fmt::format("{}://{}@{}", scheme, PercentEncoded(user),
                                 is_address ? fmt::format("[{}]", host) : PercentEncoded(host));
  if (port != 0) text += fmt::format(":{}", port);
  text += "/" + PercentEncoded(database);
  for (const auto& [name, value] : options) {
    text += fmt::format("{}{}={}", &name == &options.begin()->first ? "?" : "&",
                        PercentEncoded(name), PercentEncoded(value));
  }
  return text;
}

Result<ServerUrl> ParseServerUrl(std::string_view url) {
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos || url.size() > kLongestUrl) {
    return InvalidArgument(
        fmt::format("The URL of a database is {} and has up to {} bytes.", kForm, kLongestUrl));
  }
  ServerUrl parsed;
  parsed.scheme = url.substr(0, colon);
  std::string_view rest = url.substr(colon + 3);
  const std::string_view options = rest.substr(std::min(rest.find('?'), rest.size()));
  rest.remove_suffix(options.size());
  // The last one, because users do not escape the '@' of a password, and messages must not show
  // that as a host.
  const size_t at = rest.rfind('@');
  const std::string_view user = at == std::string_view::npos ? "" : rest.substr(0, at);
  if (user.find(':') != std::string_view::npos) {
    return InvalidArgument(fmt::format(
        "The URL of the database holds a password, which everybody on this machine can read. Leave "
        "it out ({}), put it into a file that only you can read, and name that in "
        "ATTUNE_DB_PASSWORD_FILE; or put it into the variable ATTUNE_DB_PASSWORD. For PostgreSQL "
        "PGPASSFILE does it, too.",
        kForm));
  }
  if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  ATTUNE_RETURN_IF_ERROR(TakePart("user", user, parsed.user));
  ATTUNE_RETURN_IF_ERROR(TakeHost(TakeUntil(rest, '/'), parsed));
  ATTUNE_RETURN_IF_ERROR(TakePart("name of the database", rest, parsed.database));
  ATTUNE_RETURN_IF_ERROR(TakeOptions(options.empty() ? options : options.substr(1), parsed));
  return parsed;
}

Result<std::string> ServerPassword() { return PasswordOf("the database", "ATTUNE_DB_PASSWORD"); }

std::string PercentEncoded(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("-._~").find(c) != std::string_view::npos;
    escaped += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

std::string QuotedValue(std::string_view value) {
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace attune::sql
