#include "attune/record/memory_store.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "attune/base/unix_time.h"
#include "attune/record/rules.h"

namespace attune {
namespace {

Status UnknownSet(std::string_view set_id) {
  return NotFound(fmt::format("Measurement set {} does not exist; begin it first.", set_id));
}

Status FinishedSet(std::string_view set_id) {
  return FailedPrecondition(
      fmt::format("Measurement set {} is finished; begin a new set for further trials.", set_id));
}

bool Wanted(TrialRole role, const std::vector<TrialRole>& roles) {
  return roles.empty() || std::find(roles.begin(), roles.end(), role) != roles.end();
}

RecordedSet Restricted(const RecordedSet& recorded, const RecordQuery& query) {
  RecordedSet result{recorded.set, recorded.finished, {}, recorded.conditions};
  for (const Record& record : recorded.records) {
    if (!Wanted(record.trial.role, query.roles)) continue;
    result.records.push_back(record);
    Measurement* measurement = std::get_if<Measurement>(&result.records.back().trial.outcome);
    if (measurement != nullptr && !query.with_samples) measurement->samples_ns.clear();
  }
  return result;
}

}  // namespace

MemoryStore::ProblemIndex MemoryStore::Intern(const Problem& problem) {
  const auto [entry, is_new] = problem_by_text_.try_emplace(Text(problem), problems_.size());
  if (is_new) problems_.push_back(problem);
  return entry->second;
}

void MemoryStore::Add(Tagging& tagging, std::span<const TaggedProblem> problems) {
  for (const TaggedProblem& tagged : problems) {
    const ProblemIndex index = Intern(tagged.problem);
    const bool is_new = tagging.weights.insert_or_assign(index, tagged.weight).second;
    if (is_new) tagging.order.push_back(index);
  }
}

std::vector<TaggedProblem> MemoryStore::ProblemsIn(const Lists& lists,
                                                   std::string_view name) const {
  std::vector<TaggedProblem> result;
  const auto found = lists.find(name);
  if (found == lists.end()) return result;
  for (const ProblemIndex index : found->second.order) {
    result.push_back({problems_[index], found->second.weights.at(index)});
  }
  return result;
}

Status MemoryStore::AddProblems(std::string_view tag, std::span<const TaggedProblem> problems) {
  ATTUNE_RETURN_IF_ERROR(ValidateTagging(tag, problems));
  const std::lock_guard lock(mutex_);
  Add(tags_[std::string(tag)], problems);
  return Status::Ok();
}

Status MemoryStore::AddNetwork(const Network& network, std::span<const TaggedProblem> problems) {
  ATTUNE_RETURN_IF_ERROR(ValidateNetwork(network, problems));
  const std::lock_guard lock(mutex_);
  Add(networks_[Text(network)], problems);
  return Status::Ok();
}

Result<std::vector<TaggedProblem>> MemoryStore::ProblemsOf(const Network& network) {
  const std::lock_guard lock(mutex_);
  return ProblemsIn(networks_, Text(network));
}

Result<std::vector<std::pair<Network, int64_t>>> MemoryStore::Networks() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Network, int64_t>> result;
  for (const auto& [text, tagging] : networks_) {
    ATTUNE_ASSIGN_OR_RETURN(Network network, ParseNetwork(text));
    result.emplace_back(std::move(network), static_cast<int64_t>(tagging.order.size()));
  }
  return result;
}

Result<std::vector<TaggedProblem>> MemoryStore::Problems(std::string_view tag) {
  const std::lock_guard lock(mutex_);
  if (!tag.empty()) return ProblemsIn(tags_, tag);
  std::vector<TaggedProblem> result;
  for (const Problem& problem : problems_) result.push_back({problem, 0});
  for (const auto& [name, tagging] : tags_) {
    for (const auto& [index, weight] : tagging.weights) result[index].weight += weight;
  }
  for (TaggedProblem& tagged : result) tagged.weight = std::max<int64_t>(tagged.weight, 1);
  return result;
}

Result<std::vector<std::pair<std::string, int64_t>>> MemoryStore::Tags() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, int64_t>> result;
  for (const auto& [tag, tagging] : tags_) {
    result.emplace_back(tag, static_cast<int64_t>(tagging.order.size()));
  }
  return result;
}

Status MemoryStore::BeginSet(const MeasurementSet& set) {
  ATTUNE_RETURN_IF_ERROR(ValidateSet(set));
  const std::lock_guard lock(mutex_);
  if (const auto found = set_by_id_.find(set.id); found != set_by_id_.end()) {
    if (sets_[found->second].recorded.set == set) return Status::Ok();
    return InvalidArgument(
        fmt::format("Measurement set {} exists with another content; make a new id.", set.id));
  }
  set_by_id_.emplace(set.id, sets_.size());
  sets_.push_back({Intern(set.problem), {set, false, {}}, 0});
  return Status::Ok();
}

Status MemoryStore::Append(std::string_view set_id, std::span<const Trial> trials) {
  ATTUNE_RETURN_IF_ERROR(ValidateTrials(trials));
  std::vector<Record> records;
  for (const Trial& trial : trials) records.push_back({0, 0, Storable(trial)});
  return AppendRecords(set_id, std::move(records));
}

Status MemoryStore::AppendQualified(std::string_view set_id, std::span<const Qualified> results) {
  ATTUNE_RETURN_IF_ERROR(ValidateQualified(results));
  std::vector<Record> records;
  for (const Qualified& result : results) {
    records.push_back({0, 0, Storable(result.trial), result.quick_ns, result.verify_ns});
  }
  return AppendRecords(set_id, std::move(records));
}

Status MemoryStore::AppendRecords(std::string_view set_id, std::vector<Record> records) {
  const std::lock_guard lock(mutex_);
  const auto found = set_by_id_.find(set_id);
  if (found == set_by_id_.end()) return UnknownSet(set_id);
  RecordedSet& recorded = sets_[found->second].recorded;
  if (recorded.finished) return FinishedSet(set_id);
  const int64_t now = UnixNowNs();
  for (Record& record : records) {
    record.revision = ++last_revision_;
    record.appended_unix_ns = now;
    recorded.records.push_back(std::move(record));
  }
  if (!records.empty()) MarkChanged(found->second);
  return Status::Ok();
}

Status MemoryStore::NoteConditions(std::string_view set_id, const SetConditions& conditions) {
  ATTUNE_RETURN_IF_ERROR(Validate(conditions));
  const std::lock_guard lock(mutex_);
  const auto found = set_by_id_.find(set_id);
  if (found == set_by_id_.end()) return UnknownSet(set_id);
  RecordedSet& recorded = sets_[found->second].recorded;
  if (recorded.finished) return FinishedSet(set_id);
  recorded.conditions = Storable(conditions);
  return Status::Ok();
}

Status MemoryStore::NoteTimeline(std::string_view set_id, const Timeline& timeline) {
  const std::lock_guard lock(mutex_);
  const auto found = set_by_id_.find(set_id);
  if (found == set_by_id_.end()) return UnknownSet(set_id);
  sets_[found->second].timelines.push_back(timeline);
  return Status::Ok();
}

Result<std::vector<Timeline>> MemoryStore::TimelinesOf(std::string_view set_id) {
  const std::lock_guard lock(mutex_);
  const auto found = set_by_id_.find(set_id);
  if (found == set_by_id_.end()) return std::vector<Timeline>();
  return sets_[found->second].timelines;
}

Status MemoryStore::FinishSet(std::string_view set_id) {
  const std::lock_guard lock(mutex_);
  const auto found = set_by_id_.find(set_id);
  if (found == set_by_id_.end()) return UnknownSet(set_id);
  RecordedSet& recorded = sets_[found->second].recorded;
  if (recorded.finished) return Status::Ok();
  recorded.finished = true;
  ++last_revision_;
  MarkChanged(found->second);
  return Status::Ok();
}

Result<StoreState> MemoryStore::State() {
  const std::lock_guard lock(mutex_);
  return StoreState{database_id_, last_revision_};
}

void MemoryStore::MarkChanged(size_t index) {
  KeptSet& kept = sets_[index];
  set_by_change_.erase(kept.last_change);
  kept.last_change = last_revision_;
  set_by_change_.emplace(kept.last_change, index);
}

bool MemoryStore::Matches(const KeptSet& kept, const RecordQuery& query) const {
  if (query.problem.has_value() && kept.recorded.set.problem != *query.problem) return false;
  if (query.backend.has_value() && kept.recorded.set.target.backend != *query.backend) return false;
  if (query.finished_only && !kept.recorded.finished) return false;
  if (query.session_id.has_value()) return false;
  if (!query.tag.has_value()) return true;
  const auto tagging = tags_.find(*query.tag);
  return tagging != tags_.end() && tagging->second.weights.contains(kept.problem);
}

std::vector<RecordedSet> MemoryStore::Matching(const RecordQuery& query) const {
  const std::lock_guard lock(mutex_);
  std::vector<const KeptSet*> matching;
  if (query.after_revision > 0) {
    const auto first = set_by_change_.upper_bound(query.after_revision);
    for (auto change = first; change != set_by_change_.end(); ++change) {
      const KeptSet& kept = sets_[change->second];
      if (Matches(kept, query)) matching.push_back(&kept);
    }
  } else {
    for (const KeptSet& kept : sets_) {
      if (Matches(kept, query)) matching.push_back(&kept);
    }
  }
  // Sets of one problem and one start keep the order in which they were begun: that of their
  // addresses.
  std::sort(matching.begin(), matching.end(), [](const KeptSet* a, const KeptSet* b) {
    return std::tuple(a->problem, a->recorded.set.started_unix_ns, a) <
           std::tuple(b->problem, b->recorded.set.started_unix_ns, b);
  });
  std::vector<RecordedSet> result;
  for (const KeptSet* kept : matching) result.push_back(Restricted(kept->recorded, query));
  return result;
}

Status MemoryStore::Visit(const RecordQuery& query,
                          const std::function<Status(const RecordedSet&)>& visit) {
  for (const RecordedSet& recorded : Matching(query)) ATTUNE_RETURN_IF_ERROR(visit(recorded));
  return Status::Ok();
}

}  // namespace attune
