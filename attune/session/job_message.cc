#include "attune/session/job_message.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "attune/base/text.h"

namespace attune {
namespace {

// A number in canonical form: no sign, no leading zero. Empty for any other text, and for values
// beyond int64_t.
std::optional<int64_t> WrittenNumber(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text[0] == '0') || text[0] == '-') return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The text before the first blank, which is removed with it.
std::string_view TakeWord(std::string_view& rest) {
  const size_t end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

Status NoMessage(std::string_view what, std::string_view text) {
  return DataLoss(fmt::format("This is no {} of version {}: '{}'.", what, kMessageVersion,
                              Excerpt(AsReason(text))));
}

// Takes the version off.
Status TakeVersion(std::string_view what, std::string_view text, std::string_view& rest) {
  rest = text;
  const auto version = WrittenNumber(TakeWord(rest));
  if (version.has_value() && *version > kMessageVersion) {
    return Unsupported(fmt::format(
        "This {} has version {}, and this attune knows {}: update attune on this machine.", what,
        *version, kMessageVersion));
  }
  return version == kMessageVersion ? Status::Ok() : NoMessage(what, text);
}

}  // namespace

std::string MessageText(const QueuedJob& job) {
  return fmt::format("{} {} {}", kMessageVersion, job.job_id, job.attempt);
}

Result<QueuedJob> ParseMessage(std::string_view text) {
  std::string_view rest;
  ATTUNE_RETURN_IF_ERROR(TakeVersion("message", text, rest));
  const auto id = WrittenNumber(TakeWord(rest));
  const auto attempt = WrittenNumber(rest);
  if (!id.has_value() || *id < 1 || !attempt.has_value()) return NoMessage("message", text);
  return QueuedJob{*id, *attempt};
}

std::string MessageId(const QueuedJob& job) {
  return fmt::format("{}.{}", job.job_id, job.attempt);
}

std::string AsReason(std::string_view text) {
  std::string reason(FirstBytes(text, kLongestReasonBytes));
  for (char& c : reason) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return reason;
}

std::string DeadLetterText(const DeadLetter& letter) {
  return fmt::format("{} {} {} {} {}", kMessageVersion, letter.job.job_id, letter.job.attempt,
                     letter.deliveries, AsReason(letter.reason));
}

Result<DeadLetter> ParseDeadLetter(std::string_view text) {
  std::string_view rest;
  ATTUNE_RETURN_IF_ERROR(TakeVersion("dead letter", text, rest));
  const auto id = WrittenNumber(TakeWord(rest));
  const auto attempt = WrittenNumber(TakeWord(rest));
  const auto deliveries = WrittenNumber(TakeWord(rest));
  if (!id || !attempt || !deliveries || rest != AsReason(rest)) {
    return NoMessage("dead letter", text);
  }
  return DeadLetter{{*id, *attempt}, *deliveries, std::string(rest)};
}

}  // namespace attune
