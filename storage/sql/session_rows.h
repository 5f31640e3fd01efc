// Rows of `session`, `session_state`, `session_tag` and `session_set`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/session.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// A session with its mutable fields.
struct SessionRow {
  Session session;
  int64_t generation = 0;  // The newest of its table of solvers; 0 for none.
  int64_t tag_count = 0;
  int64_t solver_count = 0;  // All generations together.
  int64_t applicability_count = 0;
};

// Under a new id.
Result<SessionRow> InsertSession(WriteTransaction& transaction, const Session& session);
// Writes the mutable fields of a session: terms, closing, counts.
Status UpdateSession(WriteTransaction& transaction, const SessionRow& row);

// Nothing if no session has that name.
Result<std::optional<SessionRow>> FindSession(Connection& connection, std::string_view name);
// kNotFound if no session has that id.
Result<SessionRow> ReadSession(Connection& connection, int64_t id);
// In order of their ids.
Result<std::vector<SessionRow>> ReadSessions(Connection& connection);

// Returns true if the tag is new in the session.
Result<bool> InsertSessionTag(WriteTransaction& transaction, int64_t session_id, int64_t tag_id);
// Ids of tags, in the order in which they were added. kDataLoss if their number differs from the
// session's count.
Result<std::vector<int64_t>> ReadSessionTags(Connection& connection, const SessionRow& row);

// Gives a set to a session and returns true; false if the session has it already. kInvalidArgument
// if another session has it.
Result<bool> InsertSessionSet(WriteTransaction& transaction, int64_t session_id, int64_t set_id);
// Row numbers of its sets, ascending. kDataLoss if their number differs from the session's count.
Result<std::vector<int64_t>> ReadSetsOfSession(Connection& connection, const SessionRow& row);
// Nothing if it belongs to none.
Result<std::optional<int64_t>> FindSessionOfSet(Connection& connection, int64_t set_id);

}  // namespace attune::sql
