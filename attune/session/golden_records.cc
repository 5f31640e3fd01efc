#include "attune/session/golden_records.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace attune {
namespace {

class GoldenRecords final : public RecordStore {
 public:
  GoldenRecords(const std::vector<GoldenEntry>& entries, RecordStore& records) : records_(records) {
    std::set<Fingerprint> seen;
    for (const GoldenEntry& entry : entries) {
      set_ids_.insert(entry.set_id);
      if (seen.insert(KeyOf(entry.problem)).second) problems_.push_back({entry.problem, 1});
    }
  }

  Status AddProblems(std::string_view, std::span<const TaggedProblem>) override { return Refuse(); }
  // All problems of the version; those of a tag are asked of the records.
  Result<std::vector<TaggedProblem>> Problems(std::string_view tag) override {
    if (tag.empty()) return problems_;
    return records_.Problems(tag);
  }
  Result<std::vector<std::pair<std::string, int64_t>>> Tags() override { return records_.Tags(); }
  Status AddNetwork(const Network&, std::span<const TaggedProblem>) override { return Refuse(); }
  Result<std::vector<TaggedProblem>> ProblemsOf(const Network& network) override {
    return records_.ProblemsOf(network);
  }
  Result<std::vector<std::pair<Network, int64_t>>> Networks() override {
    return records_.Networks();
  }
  Status BeginSet(const MeasurementSet&) override { return Refuse(); }
  Status Append(std::string_view, std::span<const Trial>) override { return Refuse(); }
  Status AppendQualified(std::string_view, std::span<const Qualified>) override { return Refuse(); }
  Status NoteConditions(std::string_view, const SetConditions&) override { return Refuse(); }
  Status FinishSet(std::string_view) override { return Refuse(); }
  Result<StoreState> State() override { return records_.State(); }

  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override {
    const auto visit_golden = [&](const RecordedSet& recorded) {
      return set_ids_.contains(recorded.set.id) ? visit(recorded) : Status::Ok();
    };
    if (query.problem.has_value() || query.tag.has_value() || query.after_revision > 0) {
      return records_.Visit(query, visit_golden);
    }
    // Problem by problem: a version is usually small beside all that was ever measured.
    for (const TaggedProblem& tagged : problems_) {
      RecordQuery of_problem = query;
      of_problem.problem = tagged.problem;
      ATTUNE_RETURN_IF_ERROR(records_.Visit(of_problem, visit_golden));
    }
    return Status::Ok();
  }

 private:
  static Status Refuse() {
    return FailedPrecondition(
        "A golden version takes no records: measure in a session and add that.");
  }

  RecordStore& records_;
  std::vector<TaggedProblem> problems_;
  std::set<std::string, std::less<>> set_ids_;
};

}  // namespace

std::unique_ptr<RecordStore> RecordsOf(const std::vector<GoldenEntry>& entries,
                                       RecordStore& records) {
  return std::make_unique<GoldenRecords>(entries, records);
}

}  // namespace attune
