// A RecordStore that forwards everything to another one, for stores that change a part of it.
#pragma once

#include "attune/record/record_store.h"

namespace attune {

// Borrows the other one.
class ForwardingStore : public RecordStore {
 public:
  explicit ForwardingStore(RecordStore& records) : records_(records) {}

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
  Status NoteTimeline(std::string_view set_id, const Timeline& timeline) override {
    return records_.NoteTimeline(set_id, timeline);
  }
  Result<std::vector<Timeline>> TimelinesOf(std::string_view set_id) override {
    return records_.TimelinesOf(set_id);
  }
  Status FinishSet(std::string_view set_id) override { return records_.FinishSet(set_id); }
  Result<StoreState> State() override { return records_.State(); }
  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override {
    return records_.Visit(query, visit);
  }

 protected:
  RecordStore& records_;
};

}  // namespace attune
