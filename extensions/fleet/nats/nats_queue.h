// The queue of a fleet on a NATS server or cluster with JetStream. docs/formats/queue.md.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "attune/base/outage_log.h"
#include "attune/base/status.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune {

struct NatsQueueOptions {
  QueueTerms terms;
  // The wait for a server that is away or does not answer. The calls of JobQueue end within this,
  // Publish() within this for each job, Take() within this and its own wait.
  std::chrono::milliseconds patience{10'000};
  // Notified when the queue is away and when it is back; may be null. Shared, because other parts
  // report their waits to it, and a queue may outlive them.
  std::shared_ptr<OutageLog> outages = nullptr;
};

// Connects, and makes the two streams if they do not exist. `url` is
// "nats://[USER@]HOST[:PORT][,HOST[:PORT]...][?NAME=VALUE&...]" or "tls://..."; the password is
// taken from the environment (docs/formats/queue.md).
//
// kInvalidArgument for a URL that cannot be read or holds a password, kUnavailable if no server
// answers within the patience, kFailedPrecondition if it refuses the credentials, has no JetStream,
// or has the streams with other settings, kUnsupported if this attune was built without NATS.
//
// A lost connection is re-established for as long as the queue lives. Not for use in a forked
// process.
Result<std::unique_ptr<JobQueue>> OpenNatsQueue(const std::string& url,
                                                const NatsQueueOptions& options = {});

}  // namespace attune
