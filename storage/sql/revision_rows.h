// Changes since a revision: rows of `store_identity` and `finished_set`, and the order of ids.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

Result<StoreState> ReadState(Connection& connection);

// Records, under a new revision, that the set is finished.
Status InsertFinish(WriteTransaction& transaction, int64_t set_id);

// Ids of sets by the id of their problem.
using SetsOfProblems = std::map<int64_t, std::set<int64_t>>;

// The sets that got a trial or were finished after `revision`. Reads the keys of the newer rows.
Result<SetsOfProblems> ReadChangedSets(Connection& connection, int64_t revision);

}  // namespace attune::sql
