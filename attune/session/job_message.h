// Content of the messages of a queue. docs/formats/queue.md.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

inline constexpr int kMessageVersion = 1;

// A job as it is put on a queue. Everything else about it is read from the database.
struct QueuedJob {
  int64_t job_id = 0;   // At least 1.
  int64_t attempt = 0;  // Job::attempts when it was published; with the id it identifies a message.

  friend auto operator<=>(const QueuedJob&, const QueuedJob&) = default;
};

// "1 ID ATTEMPT".
std::string MessageText(const QueuedJob& job);
// kUnsupported for a later version, kDataLoss if `text` is no message; both name the reason.
Result<QueuedJob> ParseMessage(std::string_view text);

// The key by which a queue recognises duplicate messages: "ID.ATTEMPT".
std::string MessageId(const QueuedJob& job);

// A message that was given up.
struct DeadLetter {
  QueuedJob job;           // All 0 if the message could not be read.
  int64_t deliveries = 0;  // How often it had been delivered.
  std::string reason;      // On one line, of up to kLongestReasonBytes.

  friend bool operator==(const DeadLetter&, const DeadLetter&) = default;
};
inline constexpr size_t kLongestReasonBytes = 500;

// `text` cut to kLongestReasonBytes, with a blank for each control character.
std::string AsReason(std::string_view text);

// "1 ID ATTEMPT DELIVERIES REASON".
std::string DeadLetterText(const DeadLetter& letter);
// Fails as ParseMessage() does.
Result<DeadLetter> ParseDeadLetter(std::string_view text);

}  // namespace attune
