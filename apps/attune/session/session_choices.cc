#include "apps/attune/session/session_choices.h"

#include <utility>

#include "attune/session/session_records.h"

namespace attune {

Result<std::map<SessionQuestion, SessionChoice>> ChoicesOf(const Session& session,
                                                           RecordStore& records,
                                                           SessionStore& sessions) {
  const auto own = RecordsOf(session.id, records, sessions);
  RecordQuery query;
  query.finished_only = true;
  query.roles = {TrialRole::kFinal};
  std::map<SessionQuestion, SessionChoice> choices;
  const Status visited = own->Visit(query, [&](const RecordedSet& recorded) {
    if (auto choice = SelectWithin(recorded, {})) {
      choices.insert_or_assign(SessionQuestion(Text(recorded.set.problem), recorded.set.cache),
                               SessionChoice{std::move(*choice), recorded.set.environment,
                                             recorded.set.started_unix_ns});
    }
    return Status::Ok();
  });
  if (!visited.ok()) return visited;
  return choices;
}

}  // namespace attune
