#include "attune/index/index_writer.h"

#include <utility>

#include "attune/index/choice_of.h"
#include "attune/index/index_builder.h"
#include "attune/index/turn_file.h"

namespace attune {
namespace {

// Calls `add` for each choice of a set newer than `after_revision`; returns the number of sets.
template <class Add>
Result<int64_t> VisitNewer(RecordStore& store, int64_t after_revision, const SelectOptions& options,
                           const Add& add) {
  RecordQuery query;
  query.finished_only = true;
  query.after_revision = after_revision;
  int64_t sets = 0;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) -> Status {
    ++sets;
    std::optional<IndexedChoice> choice = ChoiceOf(recorded, options);
    return choice.has_value() ? add(recorded.set.problem, std::move(*choice)) : Status::Ok();
  }));
  return sets;
}

bool IsOfThisStore(const ChoiceIndex& index, const StoreState& state) {
  // An index ahead of the store belongs to a later state of it, which an older copy of the database
  // replaced: none of its content is certain then.
  return index.identity().database_id == state.database_id &&
         index.identity().last_revision <= state.last_revision;
}

// Returns true if the store has no changes since `index` was made, and all of it can be read.
bool IsUpToDate(const ChoiceIndex& index, const StoreState& state) {
  return IsOfThisStore(index, state) && index.identity().last_revision == state.last_revision &&
         index.file().CheckAll().ok();
}

// A builder with all of `index`, or nothing if the index is unusable.
std::optional<IndexBuilder> Continued(const ChoiceIndex& index, const StoreState& state) {
  IndexBuilder builder;
  if (!IsOfThisStore(index, state) || !index.file().CheckAll().ok()) return std::nullopt;
  if (!builder.AddAll(index.file()).ok()) return std::nullopt;
  return builder;
}

}  // namespace

std::filesystem::path IndexPathOf(std::string_view database) {
  for (const std::string_view scheme : {"sqlite://", "sqlite:"}) {
    if (!database.starts_with(scheme)) continue;
    database.remove_prefix(scheme.size());
    break;
  }
  std::filesystem::path path = database;
  path += ".index";
  return path;
}

Result<IndexRefresh> RefreshIndex(RecordStore& store, const std::filesystem::path& path,
                                  const SelectOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(TurnFile turn, TurnFile::Take(path, kIndexPatienceMs));
  ATTUNE_ASSIGN_OR_RETURN(const StoreState state, store.State());
  // The reason why an old file is unreadable does not matter: it is made anew.
  const Result<std::unique_ptr<ChoiceIndex>> old = ChoiceIndex::Open(path);
  if (old.ok() && IsUpToDate(**old, state)) {
    return IndexRefresh{(*old)->identity(), (*old)->problem_count(), 0, false, true};
  }
  std::optional<IndexBuilder> builder = old.ok() ? Continued(**old, state) : std::nullopt;
  IndexRefresh refresh;
  refresh.rebuilt = !builder.has_value();
  const int64_t covered = refresh.rebuilt ? 0 : (*old)->identity().last_revision;
  if (refresh.rebuilt) builder.emplace();
  // Sets that arrive from here on have higher revisions, and the next refresh reads them.
  refresh.identity = {state.database_id, state.last_revision};
  ATTUNE_ASSIGN_OR_RETURN(
      refresh.sets_read,
      VisitNewer(store, covered, options, [&](const Problem& problem, const IndexedChoice& choice) {
        return builder->Add(problem, choice);
      }));
  refresh.problems = builder->problem_count();
  if (!refresh.rebuilt && refresh.sets_read == 0) {
    return IndexRefresh{(*old)->identity(), refresh.problems, 0, false, true};
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string bytes, builder->Bytes(refresh.identity));
  ATTUNE_RETURN_IF_ERROR(turn.Replace(bytes));
  return refresh;
}

Result<std::unique_ptr<MemoryChoices>> ReadNewerChoices(RecordStore& store, int64_t after_revision,
                                                        const SelectOptions& options,
                                                        int64_t* last_revision) {
  ATTUNE_ASSIGN_OR_RETURN(const StoreState state, store.State());
  auto choices = std::make_unique<MemoryChoices>();
  ATTUNE_RETURN_IF_ERROR(
      VisitNewer(store, after_revision, options, [&](const Problem& problem, IndexedChoice choice) {
        choices->Add(problem, std::move(choice));
        return Status::Ok();
      }).status());
  *last_revision = state.last_revision;
  return choices;
}

}  // namespace attune
