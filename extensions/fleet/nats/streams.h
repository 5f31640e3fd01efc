// The streams and consumers of a fleet. docs/formats/queue.md.
#pragma once

#include <cstdint>
#include <string>

#include "attune/base/status.h"
#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune::nats {

// The names of streams and subjects.
struct FleetNames {
  std::string fleet;

  std::string jobs() const { return fleet + "-jobs"; }  // A stream...
  std::string dead() const { return fleet + "-dead"; }
  std::string jobs_subject(const std::string& token) const { return fleet + ".jobs." + token; }
  std::string dead_subject(const std::string& token) const { return fleet + ".dead." + token; }
};

// Makes both streams of the fleet of `url` if they do not exist. kFailedPrecondition if they exist
// with other settings.
Status EnsureStreams(const Connection& connection, const NatsUrl& url, const QueueTerms& terms);

// The state that a consumer reports.
struct ConsumerState {
  ChannelLoad load;
  uint64_t given = 0;          // Messages, since its creation.
  bool is_asked = false;       // A client waits for a message.
  bool has_followers = false;  // Other servers can lead it, in a cluster.
};

// The consumer of `channel`. Makes it, and the streams, if they do not exist. kFailedPrecondition
// if it exists with other terms.
Result<ConsumerState> EnsureConsumer(const Connection& connection, const NatsUrl& url,
                                     const Channel& channel, const QueueTerms& terms);

}  // namespace attune::nats
