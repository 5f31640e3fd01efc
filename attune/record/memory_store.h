// A RecordStore in memory, for tests and for runs that keep nothing. It knows no sessions.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/record/record_store.h"

namespace attune {

// Thread-safe: one mutex. `visit` runs on a copy without the mutex held, so it may call the store.
class MemoryStore final : public RecordStore {
 public:
  Status AddProblems(std::string_view tag, std::span<const TaggedProblem> problems) override;
  Result<std::vector<TaggedProblem>> Problems(std::string_view tag) override;
  Result<std::vector<std::pair<std::string, int64_t>>> Tags() override;
  Status AddNetwork(const Network& network, std::span<const TaggedProblem> problems) override;
  Result<std::vector<TaggedProblem>> ProblemsOf(const Network& network) override;
  Result<std::vector<std::pair<Network, int64_t>>> Networks() override;
  Status BeginSet(const MeasurementSet& set) override;
  Status Append(std::string_view set_id, std::span<const Trial> trials) override;
  Status AppendQualified(std::string_view set_id, std::span<const Qualified> results) override;
  Status NoteConditions(std::string_view set_id, const SetConditions& conditions) override;
  Status NoteTimeline(std::string_view set_id, const Timeline& timeline) override;
  Result<std::vector<Timeline>> TimelinesOf(std::string_view set_id) override;
  Status FinishSet(std::string_view set_id) override;
  Result<StoreState> State() override;
  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override;

 private:
  using ProblemIndex = size_t;  // Position in problems_.
  struct Tagging {
    std::vector<ProblemIndex> order;
    std::map<ProblemIndex, int64_t> weights;
  };
  using Lists = std::map<std::string, Tagging, std::less<>>;
  struct KeptSet {
    ProblemIndex problem = 0;
    RecordedSet recorded;
    int64_t last_change = 0;  // Revision of its last record or of its end.
    std::vector<Timeline> timelines = {};
  };

  ProblemIndex Intern(const Problem& problem);
  void Add(Tagging& tagging, std::span<const TaggedProblem> problems);
  Status AppendRecords(std::string_view set_id, std::vector<Record> records);
  // None if `lists` has no such name.
  std::vector<TaggedProblem> ProblemsIn(const Lists& lists, std::string_view name) const;
  // Gives the set at `index` the revision `last_revision_`.
  void MarkChanged(size_t index);
  bool Matches(const KeptSet& kept, const RecordQuery& query) const;
  std::vector<RecordedSet> Matching(const RecordQuery& query) const;

  mutable std::mutex mutex_;
  std::vector<Problem> problems_;
  std::map<std::string, ProblemIndex> problem_by_text_;
  Lists tags_;
  Lists networks_;  // By Text.
  std::vector<KeptSet> sets_;
  std::map<std::string, size_t, std::less<>> set_by_id_;
  std::map<int64_t, size_t>
      set_by_change_;  // Every set that has a revision, by KeptSet::last_change.
  const std::string database_id_ = NewDatabaseId();
  int64_t last_revision_ = 0;
};

}  // namespace attune
