// Dead letters on the second stream of a fleet.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job_message.h"
#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/nats/streams.h"

namespace attune::nats {

// Stores `letter`, once for each `id` within the window of duplicates.
Status PutDeadLetter(const Connection& connection, const std::string& subject,
                     const std::string& id, const DeadLetter& letter);

// The letters of `subject`, oldest first, up to kMostDeadLetters; one request to the server each.
// An unreadable letter comes with the reason.
Result<std::vector<DeadLetter>> ReadDeadLetters(const Connection& connection,
                                                const FleetNames& names,
                                                const std::string& subject);

}  // namespace attune::nats
