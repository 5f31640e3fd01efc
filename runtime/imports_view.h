// What imported databases say for GPUs that need not be here, as a run time is asked: out of
// mapped indexes, one for each GPU that was asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attune/base/status.h"
#include "attune/dispatch/plan_key.h"
#include "attune/index/choice_index.h"
#include "attune/problem/problem.h"
#include "attune/trial/choice_source.h"

namespace attune {

struct ImportedBest {
  std::string candidate;  // Its text.
  double median_ns = 0;
  int64_t workspace_bytes = 0;
};

// Thread-safe. Nothing of it is a ChoiceSource: what it knows is of other devices, and never
// serves.
class ImportsView {
 public:
  // `database` is a path; empty for none. Opens nothing: programs that never ask pay nothing.
  explicit ImportsView(std::string database);

  // What the newest database of `target` ("gfx906_60") that has `problem` says, with the name of
  // its file in `because`; nothing if none has it. kNotFound if nothing was imported for `target`,
  // with what was; kFailedPrecondition without a database. The first question of a target, and
  // those before the next Update if its index is not up to date, are answered by the database: they
  // take milliseconds.
  Result<std::optional<IndexedChoice>> Find(std::string_view target, const Problem& problem);
  // The first of the ranking that Find gives, for the problem that `make` makes of `call`; it is
  // not asked where the mapped index was asked for the same call lately, a tenth of a microsecond.
  Result<std::optional<ImportedBest>> FindBest(std::string_view target, const PlanKey& call,
                                               const std::function<Result<Problem>()>& make);

  // In the background: makes and maps the indexes of the targets that were asked for, where
  // something newer was imported or they cannot be read. What fails is in notes(), and is not tried
  // again before something newer is there.
  void Update();
  // An update that goes on ends soon, without its index, and none begins any more: it takes
  // seconds, for which no program should have to wait at its end. Questions are answered on.
  void StopUpdates() { is_stopped_ = true; }
  // Why there is no index, a sentence each.
  std::vector<std::string> notes() const;

 private:
  static constexpr size_t kMaxAnswers = 4096;
  struct Database;
  struct CallHash {
    size_t operator()(const PlanKey& call) const { return HashOf(call); }
  };
  struct Entry {
    std::shared_ptr<const ChoiceIndex> index;  // Null if none is up to date.
    // Answers of `index`: up to kMaxAnswers, then they begin anew.
    std::unordered_map<PlanKey, std::optional<ImportedBest>, CallHash> answers;
    IndexIdentity tried;  // What could not be indexed.
    std::string note;
  };

  Result<Database> Open() const;
  std::shared_ptr<const ChoiceIndex> Mapped(std::string_view target) const;
  // The index of `target`, if the one that there is is `identity`.
  std::shared_ptr<const ChoiceIndex> MapIndex(std::string_view target,
                                              const IndexIdentity& identity) const;
  // Out of the database, or out of an index that it says is up to date.
  Result<std::optional<IndexedChoice>> Ask(std::string_view target, const Problem& problem);
  void Put(std::string_view target, std::shared_ptr<const ChoiceIndex> index);
  // What `index` answered, unless the target has another one by now.
  void Remember(std::string_view target, const ChoiceIndex& index, const PlanKey& call,
                const std::optional<ImportedBest>& best);
  void Refresh(Database& database, const std::string& target);

  const std::string database_;
  mutable std::shared_mutex mutex_;                    // Guards entries_.
  std::map<std::string, Entry, std::less<>> entries_;  // Of targets that something is imported of.
  std::mutex update_mutex_;                            // One update at a time.
  std::atomic<bool> is_stopped_{false};
};

}  // namespace attune
