// Dead letters on the second stream of a fleet.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job_message.h"
#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/nats/streams.h"

namespace attune::nats {

// Puts `letter` there, once for each `id` within the window of duplicates.
Status PutDeadLetter(const Connection& connection, const std::string& subject,
                     const std::string& id, const DeadLetter& letter);

// Those of `subject`, oldest first, up to kMostDeadLetters; a request to the server for each. One
// that cannot be read is given with the reason why.
Result<std::vector<DeadLetter>> ReadDeadLetters(const Connection& connection,
                                                const FleetNames& names,
                                                const std::string& subject);

}  // namespace attune::nats
