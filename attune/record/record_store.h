// Keeps problems with their tags, measurement sets and trials.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/network.h"
#include "attune/record/record.h"
#include "attune/trial/timeline.h"

namespace attune {

// An entry of a list of problems.
struct TaggedProblem {
  Problem problem;
  int64_t weight = 1;  // Number of times that the list has it.

  friend bool operator==(const TaggedProblem&, const TaggedProblem&) = default;
};

// Which sets and trials to load. Empty fields do not restrict.
struct RecordQuery {
  std::optional<Problem> problem;
  std::optional<std::string> tag;      // Problems with that tag.
  std::optional<std::string> backend;  // Targets of that backend.
  std::optional<int64_t> session_id;   // Sets that were measured in that session (Session::id).
  std::vector<TrialRole> roles;
  bool finished_only = false;
  bool with_samples = true;  // Without, Measurement::samples_ns is empty: quicker.
  // Only sets that got a record, or were finished, after this revision; all matching records of
  // such a set are delivered. The cost depends on new sets, not on existing ones.
  int64_t after_revision = 0;
};

// Identity and progress of a store.
struct StoreState {
  std::string database_id;    // 32 hexadecimal digits, random, made with the database.
  int64_t last_revision = 0;  // No record and no end of a set has a higher one; 0 for a new store.

  friend bool operator==(const StoreState&, const StoreState&) = default;
};

// Thread-safe. Every write is durable when its method returns Ok: a later crash of the process or
// of the machine loses nothing of it, and an earlier one leaves no partial write.
class RecordStore {
 public:
  virtual ~RecordStore() = default;

  // Adds problems under `tag`; one that is there already gets its weight replaced. One transaction.
  virtual Status AddProblems(std::string_view tag, std::span<const TaggedProblem> problems) = 0;
  // Problems with `tag` (all problems if empty) in the order in which they were added first.
  virtual Result<std::vector<TaggedProblem>> Problems(std::string_view tag) = 0;
  // Every tag with its number of problems, sorted.
  virtual Result<std::vector<std::pair<std::string, int64_t>>> Tags() = 0;

  // The same for the problems of a network, with the number of times that it computes each.
  virtual Status AddNetwork(const Network& network, std::span<const TaggedProblem> problems) = 0;
  // None if there is no such network.
  virtual Result<std::vector<TaggedProblem>> ProblemsOf(const Network& network) = 0;
  // Every network with its number of problems, sorted by Text.
  virtual Result<std::vector<std::pair<Network, int64_t>>> Networks() = 0;

  // Stores a set before its first trial. kInvalidArgument if the id exists with other content.
  virtual Status BeginSet(const MeasurementSet& set) = 0;
  // All or nothing, one transaction. kNotFound if the set does not exist.
  virtual Status Append(std::string_view set_id, std::span<const Trial> trials) = 0;
  // The same for trials of the role kQualify, which keep their quick times. kInvalidArgument for
  // other roles, and for a quick time that is not finite, negative, or of a failure.
  virtual Status AppendQualified(std::string_view set_id, std::span<const Qualified> results) = 0;
  // Device conditions around the finals; replaces earlier ones. Readers that follow revisions see
  // them when the set is finished. kInvalidArgument for impossible values, kNotFound if the set
  // does not exist, kFailedPrecondition if it is finished.
  virtual Status NoteConditions(std::string_view set_id, const SetConditions& conditions) = 0;
  // Keeps the timeline of a tuning of the set, beside those of earlier interrupted tunings; the set
  // may be finished. kNotFound if the set does not exist. Stores that keep none ignore it.
  virtual Status NoteTimeline(std::string_view set_id, const Timeline& timeline) {
    (void)set_id;
    (void)timeline;
    return Status::Ok();
  }
  // Timelines of a set, oldest first; none for an unknown set.
  virtual Result<std::vector<Timeline>> TimelinesOf(std::string_view set_id) {
    (void)set_id;
    return std::vector<Timeline>();
  }
  // Takes a new revision, so that readers that follow revisions see the end of a set too. Finishing
  // again changes nothing.
  virtual Status FinishSet(std::string_view set_id) = 0;

  // `last_revision` covers every commit before this call; later commits get higher revisions.
  virtual Result<StoreState> State() = 0;

  // Calls `visit` for each set, grouped by problem, sets of one problem in order of their start.
  // The reference is valid during the call. A failure returned by `visit` ends the loop and is
  // returned.
  virtual Status Visit(const RecordQuery& query,
                       const std::function<Status(const RecordedSet&)>& visit) = 0;
};

}  // namespace attune
