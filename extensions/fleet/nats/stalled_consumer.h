// Consumers that give nothing of what their stream has.
//
// In a cluster a consumer gives what the replica of the stream beside its leader has, and what it
// keeps itself of deliveries may be lost or out of date after servers were killed. Seen with
// nats-server 2.9.10: a replica that had fallen behind and stayed there, for as long as it led; and
// one that answered, and gave nothing to anybody for minutes. Another leader ends the first, and
// another consumer whatever is wrong with one: what it gives again is known by the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/nats/streams.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune::nats {

// For how long what is seen of a consumer may last without a message given; nothing if all is well.
// `there` messages are in the stream. 10 s where they are not those that it has waiting or has
// given, and where somebody asks for what is waiting; beyond the time in which what was given comes
// again (`ack_wait`) where somebody asks and all was given, which may be in work.
std::optional<std::chrono::nanoseconds> PatienceWith(const ConsumerState& consumer, int64_t there,
                                                     std::chrono::milliseconds ack_wait);

// Tells those that give nothing for a while from those that are about to. Not thread-safe.
class StallWatch {
 public:
  // What is seen of the consumer of `channel` at `now_ns` of any clock: how long it may last
  // (PatienceWith()), and how many messages it has given so far. 0 unless it has lasted for so
  // long; then how often it has: the next time is after twice as long, 10 minutes at most, because
  // what cannot be helped is not to be tried all the time.
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

// How many messages the stream of jobs has for `channel`, those that are given and not acknowledged
// included.
Result<int64_t> CountInStream(const Connection& connection, const FleetNames& names,
                              const Channel& channel);

// Lets another server of the cluster lead the consumer of `channel`. kUnavailable if nothing
// answers within 2 s, as nothing answers an account that may not ask for it, or the answer is no.
Status MoveConsumer(const Connection& connection, const FleetNames& names, const Channel& channel);

// Removes the consumer of `channel`, which is made anew by whoever takes from it next and gives
// everything that is in the stream, as if for the first time. Fails as MoveConsumer() does.
Status DropConsumer(const Connection& connection, const FleetNames& names, const Channel& channel);

}  // namespace attune::nats
