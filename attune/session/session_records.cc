#include "attune/session/session_records.h"

namespace attune {
namespace {

class SessionRecords final : public RecordStore {
 public:
  SessionRecords(int64_t session_id, RecordStore& records, SessionStore& sessions)
      : session_id_(session_id), records_(records), sessions_(sessions) {}

  Status AddProblems(std::string_view tag, std::span<const TaggedProblem> problems) override {
    return records_.AddProblems(tag, problems);
  }
  Result<std::vector<TaggedProblem>> Problems(std::string_view tag) override {
    return records_.Problems(tag);
  }
  Result<std::vector<std::pair<std::string, int64_t>>> Tags() override { return records_.Tags(); }
  Status AddNetwork(const Network& network, std::span<const TaggedProblem> problems) override {
    return records_.AddNetwork(network, problems);
  }
  Result<std::vector<TaggedProblem>> ProblemsOf(const Network& network) override {
    return records_.ProblemsOf(network);
  }
  Result<std::vector<std::pair<Network, int64_t>>> Networks() override {
    return records_.Networks();
  }
  Status BeginSet(const MeasurementSet& set) override {
    return sessions_.BeginSet(session_id_, set);
  }
  Status Append(std::string_view set_id, std::span<const Trial> trials) override {
    return records_.Append(set_id, trials);
  }
  Status AppendQualified(std::string_view set_id, std::span<const Qualified> results) override {
    return records_.AppendQualified(set_id, results);
  }
  Status NoteConditions(std::string_view set_id, const SetConditions& conditions) override {
    return records_.NoteConditions(set_id, conditions);
  }
  Status FinishSet(std::string_view set_id) override { return records_.FinishSet(set_id); }
  Result<StoreState> State() override { return records_.State(); }
  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override {
    RecordQuery of_session = query;
    of_session.session_id = session_id_;
    return records_.Visit(of_session, visit);
  }

 private:
  const int64_t session_id_;
  RecordStore& records_;
  SessionStore& sessions_;
};

}  // namespace

std::unique_ptr<RecordStore> RecordsOf(int64_t session_id, RecordStore& records,
                                       SessionStore& sessions) {
  return std::make_unique<SessionRecords>(session_id, records, sessions);
}

}  // namespace attune
