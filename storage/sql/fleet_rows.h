// Rows of `worker` and `publisher`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/fleet_store.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Adds the row of that name, or replaces it.
Status PutWorkerRow(WriteTransaction& transaction, const WorkerState& worker);
// In order of their names.
Result<std::vector<WorkerState>> ReadWorkers(Connection& connection);

// A publisher on one channel.
struct PublisherRow {
  int64_t id = 0;
  std::string token;
  std::string owner;
  int64_t deadline_unix_ns = 0;  // 0 once it has released the channel.
};

// Adds it under a new id if `row` has none.
Status PutPublisher(WriteTransaction& transaction, const PublisherRow& row);
Result<std::optional<PublisherRow>> FindPublisher(Connection& connection, std::string_view token);
Result<std::vector<PublisherRow>> ReadPublishers(Connection& connection);

}  // namespace attune::sql
