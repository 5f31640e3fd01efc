#include "extensions/fleet/nats/nats_url.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/text.h"

namespace attune::nats {
namespace {

constexpr size_t kLongestUrl = 4096;
constexpr size_t kMostHosts = 16;
constexpr size_t kLongestFleet = 32;
constexpr int kMostReplicas = 5;  // JetStream's limit.
constexpr int kUsualPort = 4222;
constexpr std::string_view kForm = "nats://[USER@]HOST[:PORT][,HOST[:PORT]...][?NAME=VALUE&...]";

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool HasOnly(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (kLetters.find(c) != std::string_view::npos) ||
           kDigits.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos;
  });
}

// The text before `separator`, removed together with it; all of `rest` if there is none.
std::string_view TakeUntil(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view taken = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return taken;
}

std::optional<int> NumberWithin(std::string_view text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    return std::nullopt;
  }
  return number;
}

Status HoldsSecret() {
  return InvalidArgument(fmt::format(
      "The URL of the queue holds a password or a token, which everybody on this machine can read. "
      "Leave it out ({}), put it into a file that only you can read, and name that in "
      "ATTUNE_QUEUE_PASSWORD_FILE, or a file of credentials (.creds) in "
      "ATTUNE_QUEUE_CREDENTIALS_FILE; or put it into the variable ATTUNE_QUEUE_PASSWORD.",
      kForm));
}

// "host", "host:4222", "[::1]:4222".
Result<std::string> ReadHost(std::string_view text) {
  const bool is_bracketed = text.starts_with('[');
  const size_t end = is_bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) {
    return InvalidArgument(
        "An address in the URL of the queue begins with '[' and has no ']' behind it.");
  }
  const std::string_view name = text.substr(0, end + (is_bracketed ? 1 : 0));
  std::string_view port = text.substr(name.size());
  const std::string_view inner = is_bracketed ? name.substr(1, name.size() - 2) : name;
  if (inner.empty() || !HasOnly(inner, is_bracketed ? ":." : ".-_")) {
    return InvalidArgument(fmt::format("A host in the URL of the queue is {}; the URL is {}.",
                                       inner.empty() ? "missing" : "neither a name nor an address",
                                       kForm));
  }
  if (port.empty()) return fmt::format("{}:{}", name, kUsualPort);
  port.remove_prefix(1);
  if (text[name.size()] != ':' || !NumberWithin(port, 1, 65535)) {
    return InvalidArgument(fmt::format(
        "The port '{}' in the URL of the queue is no number from 1 to 65535.", Excerpt(port)));
  }
  return fmt::format("{}:{}", name, *NumberWithin(port, 1, 65535));
}

Status TakeHosts(std::string_view text, NatsUrl& url) {
  // Uses the last '@', because users do not escape that of a password, which must not be shown.
  const size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    if (user.find(':') != std::string_view::npos) return HoldsSecret();
    if (user.empty() || !HasOnly(user, "-._~")) {
      return InvalidArgument(
          "The user in the URL of the queue is not made of letters, digits, '-', '.', '_' and "
          "'~'.");
    }
    url.user = user;
    text.remove_prefix(at + 1);
  }
  const auto hosts = std::count(text.begin(), text.end(), ',') + 1;
  if (static_cast<size_t>(hosts) > kMostHosts) {
    return InvalidArgument(fmt::format(
        "The URL of the queue has {} hosts; it may have {}. The others of a cluster are found.",
        hosts, kMostHosts));
  }
  for (auto left = hosts; left > 0; --left) {
    ATTUNE_ASSIGN_OR_RETURN(std::string host, ReadHost(TakeUntil(text, ',')));
    url.hosts.push_back(std::move(host));
  }
  return Status::Ok();
}

Status TakeOption(std::string_view name, std::string_view value, NatsUrl& url) {
  if (name == "password" || name == "token" || name == "pass") return HoldsSecret();
  if (name == "replicas") {
    const auto replicas = NumberWithin(value, 1, kMostReplicas);
    if (!replicas.has_value()) {
      return InvalidArgument(
          fmt::format("The URL of the queue has replicas={}; JetStream keeps 1 to {}.",
                      Excerpt(value), kMostReplicas));
    }
    url.replicas = *replicas;
    return Status::Ok();
  }
  if (name == "fleet") {
    if (value.empty() || value.size() > kLongestFleet || !HasOnly(value, "-_")) {
      return InvalidArgument(fmt::format(
          "The URL of the queue has fleet={}; a name of a fleet has 1 to {} letters, digits, '-' "
          "and '_'.",
          Excerpt(value), kLongestFleet));
    }
    url.fleet = value;
    return Status::Ok();
  }
  std::string* const file = name == "tlsca"     ? &url.authority_file
                            : name == "tlscert" ? &url.certificate_file
                            : name == "tlskey"  ? &url.key_file
                                                : nullptr;
  if (file == nullptr) {
    return InvalidArgument(fmt::format(
        "The URL of the queue has the option '{}'; there are replicas, fleet, tlsca, tlscert and "
        "tlskey.",
        Excerpt(name)));
  }
  if (value.empty() || !url.has_tls) {
    return InvalidArgument(fmt::format("The option {} in the URL of the queue is {}.", name,
                                       value.empty() ? "empty" : "for tls://, not for nats://"));
  }
  *file = value;
  return Status::Ok();
}

Status TakeOptions(std::string_view text, NatsUrl& url) {
  std::set<std::string_view> seen;
  while (!text.empty()) {
    std::string_view value = TakeUntil(text, '&');
    const std::string_view name = TakeUntil(value, '=');
    ATTUNE_RETURN_IF_ERROR(TakeOption(name, value, url));
    if (!seen.insert(name).second) {
      return InvalidArgument(fmt::format("The URL of the queue has the option {} twice.", name));
    }
  }
  if (url.certificate_file.empty() == url.key_file.empty()) return Status::Ok();
  return InvalidArgument(
      "The URL of the queue has one of tlscert and tlskey; a certificate needs its key.");
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

std::string NatsUrl::Text() const {
  std::vector<std::string> options;
  if (replicas != 0) options.push_back(fmt::format("replicas={}", replicas));
  if (fleet != NatsUrl().fleet) options.push_back("fleet=" + fleet);
  if (!authority_file.empty()) options.push_back("tlsca=" + authority_file);
  if (!certificate_file.empty()) {
    options.push_back(fmt::format("tlscert={}&tlskey={}", certificate_file, key_file));
  }
  return fmt::format("{}://{}{}{}{}{}", has_tls ? "tls" : "nats", user, user.empty() ? "" : "@",
                     fmt::join(hosts, ","), options.empty() ? "" : "?", fmt::join(options, "&"));
}

Result<NatsUrl> ParseNatsUrl(std::string_view url) {
  NatsUrl parsed;
  parsed.has_tls = url.starts_with("tls://");
  if ((!parsed.has_tls && !url.starts_with("nats://")) || url.size() > kLongestUrl) {
    return InvalidArgument(
        fmt::format("The URL of a queue is {}, or with tls:// in front, and has up to {} bytes.",
                    kForm, kLongestUrl));
  }
  std::string_view rest = url.substr(url.find("://") + 3);
  const std::string_view options = rest.substr(std::min(rest.find('?'), rest.size()));
  // An '@' after the '?' may end a password that contains the '?'.
  if (options.find('@') != std::string_view::npos && rest.find(':') < rest.find('?') &&
      rest.substr(0, rest.find('?')).find('@') == std::string_view::npos) {
    return HoldsSecret();
  }
  if (!IsPrintable(url)) {
    return InvalidArgument(
        "The URL of the queue has blanks, control characters or bytes that are not of ASCII.");
  }
  rest.remove_suffix(options.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  ATTUNE_RETURN_IF_ERROR(TakeHosts(rest, parsed));
  ATTUNE_RETURN_IF_ERROR(TakeOptions(options.empty() ? options : options.substr(1), parsed));
  return parsed;
}

}  // namespace attune::nats
