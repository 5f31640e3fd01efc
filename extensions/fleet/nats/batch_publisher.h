// Messages that are published together, without waiting for one after the other.
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
  std::string id;  // By which the stream knows it again.
  std::string text;
};

// What the server said of one.
enum class Published {
  kUnknown,  // Nothing in time, or that it failed.
  kAdded,
  kDuplicate,
};

// Thread-safe; one call after the other.
class BatchPublisher {
 public:
  // Borrows `connection`.
  explicit BatchPublisher(const Connection& connection) : connection_(connection) {}

  // Publishes `messages` on `subject` in their order; one answer for each. When for as long as one
  // request may take nothing comes, those that are left are kUnknown: whoever publishes one of them
  // again hears what is wrong with it, and does no harm where only the answer was lost.
  std::vector<Published> Publish(const std::string& subject,
                                 std::span<const OutgoingMessage> messages);

 private:
  // Whether answers can come.
  bool Listen();
  bool Send(const std::string& subject, int64_t number, const OutgoingMessage& message) const;
  // The number of the message that `answer` is about; below all numbers if it is about none.
  int64_t NumberOf(const natsMsg* answer) const;

  const Connection& connection_;
  std::mutex mutex_;  // Guards what follows.
  // Answers come on this subject, with the number of the message behind it. One subscription for
  // all calls: the library (3.5 and before) may still be delivering to one that is destroyed.
  std::string inbox_;
  SubscriptionHandle answers_;
  int64_t next_number_ = 1;
};

}  // namespace attune::nats
