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

// True if `queue` names a server; an empty name and "local:" mean the database itself.
bool IsQueueServer(const std::string& queue);

// kInvalidArgument if `queue` is not a queue URL or contains a password; else fails as
// OpenNatsQueue() does. Borrows `fleet`. `outages` as in NatsQueueOptions.
Result<std::unique_ptr<JobQueue>> OpenFleetQueue(const std::string& queue, FleetStore& fleet,
                                                 std::shared_ptr<OutageLog> outages = nullptr);

// Publishes the ready jobs of `session` at once if `queue` is a server; a worker would do so within
// a second. Prints failures, which are harmless: the jobs are in the database.
void PublishNow(Application& application, const Session& session, const std::string& queue);

}  // namespace attune
