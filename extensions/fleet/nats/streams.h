// The streams and consumers of a fleet. docs/formats/queue.md.
#pragma once

#include <cstdint>
#include <string>

#include "attune/base/status.h"
#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune::nats {

// What they are called.
struct FleetNames {
  std::string fleet;

  std::string jobs() const { return fleet + "-jobs"; }  // A stream...
  std::string dead() const { return fleet + "-dead"; }
  std::string jobs_subject(const std::string& token) const { return fleet + ".jobs." + token; }
  std::string dead_subject(const std::string& token) const { return fleet + ".dead." + token; }
};

// Makes both streams of the fleet of `url` if they are not there. kFailedPrecondition if they are,
// with other settings.
Status EnsureStreams(const Connection& connection, const NatsUrl& url, const QueueTerms& terms);

// What a consumer says of itself.
struct ConsumerState {
  ChannelLoad load;
  uint64_t given = 0;          // Messages, since it was made.
  bool is_asked = false;       // Somebody waits for a message.
  bool has_followers = false;  // Other servers of a cluster, any of which can lead it.
};

// The consumer of `channel`, made if it is not there, with the streams if these are gone.
// kFailedPrecondition if it is there with other terms.
Result<ConsumerState> EnsureConsumer(const Connection& connection, const NatsUrl& url,
                                     const Channel& channel, const QueueTerms& terms);

}  // namespace attune::nats
