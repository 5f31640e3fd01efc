#include "attune/session/withheld_ends.h"

namespace attune {
namespace {

class WithheldEnds final : public RecordStore {
 public:
  WithheldEnds(RecordStore& records, std::set<std::string>& ends)
      : records_(records), ends_(ends) {}

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
  Status BeginSet(const MeasurementSet& set) override { return records_.BeginSet(set); }
  Status Append(std::string_view set_id, std::span<const Trial> trials) override {
    return records_.Append(set_id, trials);
  }
  Status AppendQualified(std::string_view set_id, std::span<const Qualified> results) override {
    return records_.AppendQualified(set_id, results);
  }
  Status NoteConditions(std::string_view set_id, const SetConditions& conditions) override {
    return records_.NoteConditions(set_id, conditions);
  }
  Status FinishSet(std::string_view set_id) override {
    ends_.emplace(set_id);
    return Status::Ok();
  }
  Result<StoreState> State() override { return records_.State(); }
  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override {
    return records_.Visit(query, visit);
  }

 private:
  RecordStore& records_;
  std::set<std::string>& ends_;
};

}  // namespace

std::unique_ptr<RecordStore> WithholdEnds(RecordStore& records, std::set<std::string>& ends) {
  return std::make_unique<WithheldEnds>(records, ends);
}

}  // namespace attune
