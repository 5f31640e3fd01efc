// Publishes messages together, without waiting for one after the other.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/nats/handles.h"

namespace attune::nats {

struct OutgoingMessage {
  std::string id;  // By which the stream detects duplicates.
  std::string text;
};

// The server's answer to one message.
enum class Published {
  kUnknown,  // No answer in time, or an error.
  kAdded,
  kDuplicate,
};

// Thread-safe; calls run one after the other.
class BatchPublisher {
 public:
  // Borrows `connection`.
  explicit BatchPublisher(const Connection& connection) : connection_(connection) {}

  // Publishes `messages` on `subject` in their order; returns one answer for each. If no answer
  // comes within the time of one request, the remaining messages are kUnknown. Publishing such a
  // message again reports its error, and is harmless if only the answer was lost.
  std::vector<Published> Publish(const std::string& subject,
                                 std::span<const OutgoingMessage> messages);

 private:
  // True if answers can arrive.
  bool Listen();
  bool Send(const std::string& subject, int64_t number, const OutgoingMessage& message) const;
  // The number of the message that `answer` concerns; below all numbers if none.
  int64_t NumberOf(const natsMsg* answer) const;

  const Connection& connection_;
  std::mutex mutex_;  // Guards the members below.
  // Answers arrive on this subject followed by the number of the message. All calls share one
  // subscription: the library (3.5 and before) may still deliver to a destroyed one.
  std::string inbox_;
  SubscriptionHandle answers_;
  int64_t next_number_ = 1;
};

}  // namespace attune::nats
