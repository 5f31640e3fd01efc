// The build without nats.c.
#include "extensions/fleet/nats/nats_queue.h"

namespace attune {

Result<std::unique_ptr<JobQueue>> OpenNatsQueue(const std::string&, const NatsQueueOptions&) {
  return Unsupported(
      "This attune was built without queues on NATS. Install libnats-dev, configure it anew and "
      "build it.");
}

}  // namespace attune
