#include "runtime/imports_view.h"

#include <utility>

#include <fmt/format.h>

#include "attune/base/file_size_signal.h"
#include "attune/formats/miopen/imported_choice.h"
#include "attune/index/import_index.h"
#include "attune/record/import_store.h"
#include "attune/record/record_store.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

std::string Because(std::string_view target, const IndexedChoice& choice) {
  const std::string parameters = ParametersFileOf(choice);
  return fmt::format("Imported for {} from '{}'{}.", target, ImportedFileOf(choice),
                     parameters.empty() ? "" : fmt::format(", parameters from '{}'", parameters));
}

std::optional<IndexedChoice> Explained(std::string_view target,
                                       std::vector<IndexedChoice> choices) {
  if (choices.empty()) return std::nullopt;
  IndexedChoice choice = std::move(choices.front());
  choice.because = Because(target, choice);
  return choice;
}

// What `index` has for `problem`, else for what imports mean by it.
Result<std::vector<IndexedChoice>> FindIn(const ChoiceIndex& index, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(auto found, index.Find(problem));
  return found.empty() ? index.Find(miopen::MeantByImports(problem)) : std::move(found);
}

Result<std::optional<RankedText>> FindBestIn(const ChoiceIndex& index, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(auto found, index.FindBest(problem));
  return found.has_value() ? std::move(found) : index.FindBest(miopen::MeantByImports(problem));
}

// What was imported, to be read until a flag is set.
class StoppableImports final : public ImportStore {
 public:
  StoppableImports(ImportStore& imports, const std::atomic<bool>& is_stopped)
      : imports_(imports), is_stopped_(is_stopped) {}

  Result<int64_t> Begin(const ImportedFile&) override { return Refuse(); }
  Status Append(int64_t, std::span<const ImportedLine>) override { return Refuse(); }
  Result<ImportEnd> Finish(int64_t) override { return Refuse(); }
  Result<bool> Renew(int64_t) override { return Refuse(); }
  Status RemoveAbandoned() override { return Refuse(); }
  Result<std::vector<ImportedFile>> Files() override { return imports_.Files(); }
  Status Visit(int64_t file_id, const std::function<Status(const ImportedLine&)>& visit) override {
    return imports_.Visit(file_id, [&](const ImportedLine& line) {
      return is_stopped_ ? Unavailable("The run time is being closed.") : visit(line);
    });
  }
  Result<std::vector<std::pair<ImportedFile, ImportedLine>>> Find(const Fingerprint& key) override {
    return imports_.Find(key);
  }

 private:
  static Status Refuse() { return Unsupported("What was imported is only read here."); }

  ImportStore& imports_;
  const std::atomic<bool>& is_stopped_;
};

}  // namespace

// As it is now. Opened for each use: whoever asks out of mapped indexes needs it seldom, and a path
// may have come to mean another file.
struct ImportsView::Database {
  std::unique_ptr<ImportStore> imports;
  std::string id;
  std::vector<ImportedFile> files;

  IndexIdentity IdentityOf(std::string_view target) const {
    return {id, ImportRevisionOf(files, target)};
  }
};

ImportsView::ImportsView(std::string database) : database_(std::move(database)) {}

Result<ImportsView::Database> ImportsView::Open() const {
  if (database_.empty()) {
    return FailedPrecondition(
        "This run time has no database that anything could be imported into; ATTUNE_DB or the "
        "option names one.");
  }
  SqlStoreOptions options;
  options.use = StoreUse::kReadAsGuest;
  ATTUNE_ASSIGN_OR_RETURN(const auto opened, OpenSqlDatabase(database_, options));
  Database database;
  ATTUNE_ASSIGN_OR_RETURN(const StoreState state, RecordsIn(opened)->State());
  database.id = state.database_id;
  database.imports = ImportsIn(opened);
  ATTUNE_ASSIGN_OR_RETURN(database.files, database.imports->Files());
  return database;
}

std::shared_ptr<const ChoiceIndex> ImportsView::Mapped(std::string_view target) const {
  const std::shared_lock lock(mutex_);
  const auto entry = entries_.find(target);
  return entry == entries_.end() ? nullptr : entry->second.index;
}

std::shared_ptr<const ChoiceIndex> ImportsView::MapIndex(std::string_view target,
                                                         const IndexIdentity& identity) const {
  auto index = ChoiceIndex::Open(ImportIndexPathOf(database_, target));
  // One that is not there, damaged or of something else is made anew by the next update.
  if (!index.ok() || (*index)->identity() != identity) return nullptr;
  return std::move(*index);
}

void ImportsView::Put(std::string_view target, std::shared_ptr<const ChoiceIndex> index) {
  const std::unique_lock lock(mutex_);
  Entry& entry = entries_[std::string(target)];
  entry.index = std::move(index);
  entry.answers.clear();
}

Result<std::optional<IndexedChoice>> ImportsView::Find(std::string_view target,
                                                       const Problem& problem) {
  if (const auto index = Mapped(target)) {
    auto found = FindIn(*index, problem);
    if (found.ok()) return Explained(target, std::move(*found));
    Put(target, nullptr);
  }
  return Ask(target, problem);
}

Result<std::optional<ImportedBest>> ImportsView::FindBest(
    std::string_view target, const PlanKey& call, const std::function<Result<Problem>()>& make) {
  std::shared_ptr<const ChoiceIndex> index;
  {
    const std::shared_lock lock(mutex_);
    if (const auto entry = entries_.find(target); entry != entries_.end()) {
      const auto known = entry->second.answers.find(call);
      if (known != entry->second.answers.end()) return known->second;
      index = entry->second.index;
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(const Problem problem, make());
  if (index != nullptr) {
    const auto found = FindBestIn(*index, problem);
    if (found.ok()) {
      std::optional<ImportedBest> best;
      if (found->has_value()) {
        best = {std::string((*found)->candidate), (*found)->median_ns, (*found)->workspace_bytes};
      }
      Remember(target, *index, call, best);
      return best;
    }
    Put(target, nullptr);
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto choice, Ask(target, problem));
  if (!choice.has_value()) return std::optional<ImportedBest>();
  const RankedCandidate& best = choice->best();
  return std::optional(ImportedBest{Text(best.candidate), best.median_ns, best.workspace_bytes});
}

void ImportsView::Remember(std::string_view target, const ChoiceIndex& index, const PlanKey& call,
                           const std::optional<ImportedBest>& best) {
  const std::unique_lock lock(mutex_);
  const auto entry = entries_.find(target);
  if (entry == entries_.end() || entry->second.index.get() != &index) return;
  auto& answers = entry->second.answers;
  if (answers.size() >= kMaxAnswers) answers.clear();
  answers.insert_or_assign(call, best);
}

Result<std::optional<IndexedChoice>> ImportsView::Ask(std::string_view target,
                                                      const Problem& problem) {
  // A reader of a database may have to write beside it.
  const FileSizeSignalHeld held;
  ATTUNE_ASSIGN_OR_RETURN(const Database database, Open());
  const IndexIdentity identity = database.IdentityOf(target);
  if (identity.last_revision > 0) {
    const auto index = MapIndex(target, identity);
    // Null, too: the next update makes one.
    Put(target, index);
    if (index != nullptr) {
      auto found = FindIn(*index, problem);
      if (found.ok()) return Explained(target, std::move(*found));
      Put(target, nullptr);
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto answer,
                          miopen::AskImports(*database.imports, target, problem));
  if (!answer.has_value() || answer->ranking.empty()) return std::optional<IndexedChoice>();
  IndexedChoice choice = ChoiceOf(*answer);
  choice.target = std::make_shared<const Target>(ImportTargetOf(target));
  return Explained(target, {std::move(choice)});
}

void ImportsView::Update() {
  const std::lock_guard<std::mutex> update(update_mutex_);
  std::vector<std::string> targets;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [target, entry] : entries_) targets.push_back(target);
  }
  if (targets.empty() || is_stopped_) return;
  auto database = Open();
  // A database that cannot be read now is tried again; what is mapped answers on.
  if (!database.ok()) return;
  for (const std::string& target : targets) Refresh(*database, target);
}

void ImportsView::Refresh(Database& database, const std::string& target) {
  const IndexIdentity identity = database.IdentityOf(target);
  {
    const std::unique_lock lock(mutex_);
    if (identity.last_revision == 0) {
      // The path means another database now, which has nothing of it.
      entries_.erase(target);
      return;
    }
    const Entry& entry = entries_.at(target);
    if (entry.index != nullptr && entry.index->identity() == identity) return;
    if (entry.tried == identity) return;
  }
  Entry entry;
  StoppableImports imports(*database.imports, is_stopped_);
  const auto refreshed =
      RefreshImportIndex(imports, {database.id, target}, ImportIndexPathOf(database_, target));
  if (is_stopped_ && !refreshed.ok()) return;
  if (refreshed.ok()) entry.index = MapIndex(target, refreshed->identity);
  if (entry.index == nullptr) {
    entry.tried = identity;
    entry.note = fmt::format(
        "There is no index of what was imported for {}, so that the database answers: {}", target,
        refreshed.ok() ? "it cannot be read." : refreshed.error().message());
  }
  const std::unique_lock lock(mutex_);
  entries_[target] = std::move(entry);
}

std::vector<std::string> ImportsView::notes() const {
  std::vector<std::string> notes;
  const std::shared_lock lock(mutex_);
  for (const auto& [target, entry] : entries_) {
    if (!entry.note.empty()) notes.push_back(entry.note);
  }
  return notes;
}

}  // namespace attune
