// Messages that are published together, without waiting for one after the other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/nats/connection.h"

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

// Publishes `messages` on `subject` in their order; one answer for each. When for as long as one
// request may take nothing comes, those that are left are kUnknown: whoever publishes one of them
// again hears what is wrong with it, and does no harm where only the answer was lost.
std::vector<Published> PublishTogether(const Connection& connection, const std::string& subject,
                                       std::span<const OutgoingMessage> messages);

}  // namespace attune::nats
