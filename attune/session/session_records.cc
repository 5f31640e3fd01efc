#include "attune/session/session_records.h"

#include "attune/record/forwarding_store.h"

namespace attune {
namespace {

class SessionRecords final : public ForwardingStore {
 public:
  SessionRecords(int64_t session_id, RecordStore& records, SessionStore& sessions)
      : ForwardingStore(records), session_id_(session_id), sessions_(sessions) {}

  Status BeginSet(const MeasurementSet& set) override {
    return sessions_.BeginSet(session_id_, set);
  }
  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override {
    RecordQuery of_session = query;
    of_session.session_id = session_id_;
    return records_.Visit(of_session, visit);
  }

 private:
  const int64_t session_id_;
  SessionStore& sessions_;
};

}  // namespace

std::unique_ptr<RecordStore> RecordsOf(int64_t session_id, RecordStore& records,
                                       SessionStore& sessions) {
  return std::make_unique<SessionRecords>(session_id, records, sessions);
}

}  // namespace attune
