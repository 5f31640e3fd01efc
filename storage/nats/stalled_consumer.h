// Consumers that give nothing of what their stream has.
//
// In a cluster a consumer gives what the replica of the stream beside its leader has. One that has
// fallen behind and stays there (seen with nats-server 2.9.10 after servers were killed) makes the
// channel look empty for as long as it leads. Another leader ends that.
#pragma once

#include <cstdint>
#include <map>

#include "attune/queue/job_queue.h"
#include "storage/nats/connection.h"
#include "storage/nats/streams.h"

namespace attune::nats {

// Tells those that give nothing for a while from those that are about to. Not thread-safe.
class StallWatch {
 public:
  // What is known of the consumer of `channel` at `now_ns` of any clock: whether its stream has
  // messages that it does not know of, and how many it has given so far. True if that has been so,
  // without a message given, for 10 s; then for twice as long as the last time, 10 minutes at most,
  // because what cannot be helped is not to be tried all the time.
  bool Look(const Channel& channel, bool lacks_messages, uint64_t given, int64_t now_ns);

 private:
  struct Stall {
    uint64_t given = 0;
    int64_t begun_ns = 0;
    int64_t patience_ns = 0;
  };
  std::map<Channel, Stall> stalls_;
};

// How many messages the stream of jobs has for `channel`, those that are given and not acknowledged
// included.
Result<int64_t> CountInStream(const Connection& connection, const FleetNames& names,
                              const Channel& channel);

// Lets another server of the cluster lead the consumer of `channel`. kUnavailable if nothing
// answers within 2 s, as nothing answers an account that may not ask for it, or the answer is no.
Status MoveConsumer(const Connection& connection, const FleetNames& names, const Channel& channel);

}  // namespace attune::nats
