// The queue of a fleet, as verbs name it.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/attune/application.h"
#include "attune/base/outage_log.h"
#include "attune/base/status.h"
#include "attune/session/fleet_store.h"
#include "attune/session/session.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune {

// --queue, else ATTUNE_QUEUE.
CLI::Option* AddQueueOption(CLI::App& verb, std::string& queue);

// Whether `queue` is that of a server: neither empty nor "local:", which mean the database itself.
bool IsQueueServer(const std::string& queue);

// kInvalidArgument for what is no URL of a queue, or has a password in it; else fails as
// OpenNatsQueue() does. Borrows `fleet`. `outages` as in NatsQueueOptions.
Result<std::unique_ptr<JobQueue>> OpenFleetQueue(const std::string& queue, FleetStore& fleet,
                                                 std::shared_ptr<OutageLog> outages = nullptr);

// Publishes what can be done of `session` at once, where `queue` is that of a server; a worker
// would within a second. What fails is said, and harms nothing: the jobs are in the database.
void PublishNow(Application& application, const Session& session, const std::string& queue);

}  // namespace attune
