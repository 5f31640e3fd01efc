// Consumers that deliver nothing although their stream has messages.
//
// In a cluster a consumer delivers from the stream replica beside its leader. Its own record of
// deliveries can be lost or outdated after servers were killed. Seen with nats-server 2.9.10: a
// replica that stayed behind for as long as it led, and one that answered, but delivered nothing
// for minutes. Another leader ends the first fault, another consumer any fault of a consumer; the
// database recognises repeated deliveries.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/nats/streams.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune::nats {

// How long the state of a consumer may last without a delivery; nothing if all is well. `there`
// messages are in the stream. 10 s if their number differs from those waiting and delivered, or if
// a client asks and messages wait. If a client asks and all messages are delivered, they may be in
// work: 10 s beyond `ack_wait`, after which they come again.
std::optional<std::chrono::nanoseconds> PatienceWith(const ConsumerState& consumer, int64_t there,
                                                     std::chrono::milliseconds ack_wait);

// Detects consumers that deliver nothing for a while. Not thread-safe.
class StallWatch {
 public:
  // Records the state of the consumer of `channel` at `now_ns` of any clock: its patience
  // (PatienceWith()), and the number of messages it has delivered so far. Returns 0 until the state
  // has lasted that long, then how many times it has. Each time doubles the wait, up to 10 minutes,
  // because a fault without a remedy must not cause constant retries.
  int Look(const Channel& channel, std::optional<std::chrono::nanoseconds> patience, uint64_t given,
           int64_t now_ns);

 private:
  struct Stall {
    uint64_t given = 0;
    int64_t begun_ns = 0;
    int times = 0;
  };
  std::map<Channel, Stall> stalls_;
};

// The number of messages that the stream of jobs has for `channel`, including deliveries not
// acknowledged.
Result<int64_t> CountInStream(const Connection& connection, const FleetNames& names,
                              const Channel& channel);

// Lets another server of the cluster lead the consumer of `channel`. kUnavailable if it refuses, or
// if no answer comes within 2 s, as for an account without the permission.
Status MoveConsumer(const Connection& connection, const FleetNames& names, const Channel& channel);

// Removes the consumer of `channel`. The next client that takes from the channel makes it anew, and
// it delivers everything in the stream as if for the first time. Fails as MoveConsumer() does.
Status DropConsumer(const Connection& connection, const FleetNames& names, const Channel& channel);

}  // namespace attune::nats
