#include "runtime/records_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/steady_time.h"
#include "attune/base/unix_time.h"
#include "attune/index/index_writer.h"
#include "attune/index/memory_choices.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// More layers than this make every miss slower than one more index file would cost.
constexpr size_t kMaxOverlays = 16;
constexpr size_t kMaxNotes = 64;
// An index is written as a whole, so what is tuned soon after the last one waits for the next.
constexpr std::chrono::seconds kIndexInterval{30};

FileStamp StampOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
          int64_t{info.st_size},
          int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

DatabaseStamp DatabaseStampOf(const std::string& path) {
  return {StampOf(path), StampOf(path + "-wal")};
}

// True if a change after `now_ns`, when the stamp was taken, gives another stamp. File timestamps
// tick in milliseconds.
bool IsSettled(const DatabaseStamp& stamp, int64_t now_ns) {
  constexpr int64_t kTickNs = 100'000'000;
  return std::max(stamp.file.changed_ns, stamp.log.changed_ns) + kTickNs < now_ns;
}

// Why nobody can tell whether there is a file at `path`; ok if that can be told.
Status Reached(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 || errno == ENOENT) return Status::Ok();
  return SystemError("look for", path);
}

// True if `failure` lies in the database itself. A lock of another process is temporary.
bool IsLasting(const Status& failure, const std::filesystem::path& database) {
  if (failure.code() == StatusCode::kNotFound) return false;
  return failure.code() != StatusCode::kUnavailable || ::access(database.c_str(), R_OK) != 0;
}

// An index that tells when a lookup met damage, which only reading shows.
class WatchedIndex final : public ChoiceSource {
 public:
  WatchedIndex(std::shared_ptr<const ChoiceIndex> index,
               std::shared_ptr<std::atomic<bool>> is_damaged)
      : index_(std::move(index)), is_damaged_(std::move(is_damaged)) {}

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override {
    return Watched(index_->Find(problem));
  }
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override {
    return Watched(index_->Nearest(problem, limit, max_distance));
  }
  int64_t problem_count() const override { return index_->problem_count(); }

 private:
  template <class Answer>
  Answer Watched(Answer answer) const {
    if (answer.status().code() == StatusCode::kDataLoss) is_damaged_->store(true);
    return answer;
  }

  const std::shared_ptr<const ChoiceIndex> index_;
  const std::shared_ptr<std::atomic<bool>> is_damaged_;
};

}  // namespace

RecordsView::RecordsView(RecordsLocation location, SelectOptions select)
    : location_(std::move(location)),
      select_(std::move(select)),
      is_damaged_(std::make_shared<std::atomic<bool>>(false)) {
  ReadIndex();
  Publish();
  NoteIfUnreachable();
}

// True if index_ changed. An unreadable file leaves index_ as it is.
bool RecordsView::ReadIndex() {
  if (location_.database.empty()) return false;
  const auto path = IndexPathOf(location_.database);
  const FileStamp stamp = StampOf(path);
  if (stamp == index_file_) return false;
  index_file_ = stamp;
  is_index_file_damaged_ = false;
  if (stamp.inode == 0) return false;
  auto index = ChoiceIndex::Open(path);
  if (!index.ok()) {
    is_index_file_damaged_ = true;
    AddNote(fmt::format("The index is not used: {}", index.error().message()));
    if (index.error().code() == StatusCode::kDataLoss) NoteDamaged(index.error().message());
    return false;
  }
  index_ = std::move(*index);
  const IndexIdentity& identity = index_->identity();
  if (identity.database_id != database_id_ || identity.last_revision >= seen_revision_) {
    database_id_ = identity.database_id;
    seen_revision_ = identity.last_revision;
    overlays_.clear();
  }
  return true;
}

void RecordsView::ForgetIndex() {
  index_ = nullptr;
  overlays_.clear();
  seen_revision_ = 0;
  indexed_revision_ = 0;
}

void RecordsView::Publish() {
  std::vector<std::shared_ptr<const ChoiceSource>> layers = overlays_;
  if (index_ != nullptr) layers.push_back(std::make_shared<WatchedIndex>(index_, is_damaged_));
  layers.insert(layers.end(), location_.packages.begin(), location_.packages.end());
  auto choices = std::make_shared<const LayeredChoices>(std::move(layers));
  const std::lock_guard<std::mutex> lock(mutex_);
  choices_ = std::move(choices);
}

std::shared_ptr<const ChoiceSource> RecordsView::choices() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return choices_;
}

std::vector<std::string> RecordsView::notes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return notes_;
}

// What is seen again and again is said once.
void RecordsView::AddNote(std::string note) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_known = std::find(notes_.begin(), notes_.end(), note) != notes_.end();
  if (!is_known && notes_.size() < kMaxNotes) notes_.push_back(std::move(note));
}

// A database that is not there yet is no news; a folder that must not be looked into is.
void RecordsView::NoteIfUnreachable() {
  if (location_.database.empty()) return;
  const Status reached = Reached(location_.database);
  if (reached.ok()) return;
  AddNote(fmt::format("No database is used: {}", reached.message()));
  NoteUnusable(reached);
}

void RecordsView::NoteDamaged(const std::string& why) const {
  if (location_.damaged != nullptr) location_.damaged(why);
}

void RecordsView::NoteUnusable(const Status& why) const {
  if (location_.unusable != nullptr) location_.unusable(why);
}

Result<bool> RecordsView::Update() {
  if (location_.database.empty()) return false;
  const std::lock_guard<std::mutex> update(update_mutex_);
  if (StampOf(location_.database).inode == 0) {
    read_ = {};
    NoteIfUnreachable();
    return false;
  }
  Result<bool> changed = ReadIfChanged();
  if (!changed.ok() && !is_stopped_) {
    if (IsLasting(changed.error(), location_.database)) NoteUnusable(changed.error());
    AddNote(fmt::format("What is new in the database is not used: {}", changed.error().message()));
  }
  return changed;
}

Result<bool> RecordsView::ReadIfChanged() {
  if (is_stopped_) return Unavailable("The run time is being closed.");
  const int64_t now_ns = UnixNowNs();
  const DatabaseStamp stamp = DatabaseStampOf(location_.database);
  const bool has_index_changed = StampOf(IndexPathOf(location_.database)) != index_file_;
  if (stamp == read_ && !has_index_changed && !*is_damaged_) return false;
  read_ = {};
  // A writer may hold the lock that readers need for some milliseconds.
  constexpr std::chrono::milliseconds kPatience{100};
  SqlStoreOptions options;
  options.use = StoreUse::kReadAsGuest;
  options.busy_timeout = kPatience;
  options.is_cancelled = &is_stopped_;
  ATTUNE_ASSIGN_OR_RETURN(const auto store, OpenSqlStore(location_.database, options));
  ATTUNE_ASSIGN_OR_RETURN(const bool has_changed, ReadNews(*store));
  if (IsSettled(stamp, now_ns)) read_ = stamp;
  return has_changed;
}

Result<bool> RecordsView::ReadNews(RecordStore& store) {
  // Before the state: an index that is ahead of it is of a later state, which a copy replaced.
  bool has_changed = ReadIndex();
  ATTUNE_ASSIGN_OR_RETURN(const StoreState state, store.State());
  if (database_id_ != state.database_id || seen_revision_ > state.last_revision) {
    has_changed = has_changed || index_ != nullptr || !overlays_.empty();
    ForgetIndex();
    database_id_ = state.database_id;
  }
  if (is_damaged_->exchange(false)) {
    AddNote("The index is damaged; it is made anew.");
    NoteDamaged("A lookup met damage. It is made anew.");
    ForgetIndex();
    has_changed = true;
  }
  if (is_index_file_damaged_) indexed_revision_ = 0;
  const bool wants_index =
      index_ == nullptr || is_index_file_damaged_ || overlays_.size() >= kMaxOverlays;
  if (wants_index && state.last_revision > indexed_revision_) {
    RefreshIndexFile(store, state.last_revision);
    has_changed = ReadIndex() || has_changed;
  }
  const bool has_news = state.last_revision > seen_revision_;
  if (has_news) ATTUNE_RETURN_IF_ERROR(AddOverlay(store));
  if (has_news || has_changed) Publish();
  return has_news || has_changed;
}

Status RecordsView::AddOverlay(RecordStore& store) {
  if (overlays_.size() >= kMaxOverlays) {
    // Without a place for the index, one overlay has it all.
    overlays_.clear();
    seen_revision_ = index_ == nullptr ? 0 : index_->identity().last_revision;
  }
  int64_t last_revision = seen_revision_;
  ATTUNE_ASSIGN_OR_RETURN(auto overlay,
                          ReadNewerChoices(store, seen_revision_, select_, &last_revision));
  const bool has_choices = overlay->problem_count() > 0;
  overlays_.insert(overlays_.begin(), std::move(overlay));
  seen_revision_ = last_revision;
  // For processes that start later, and for those that cannot read the database.
  const bool is_due = indexed_ns_ == 0 ||
                      SteadyNowNs() - indexed_ns_ >= kIndexInterval / std::chrono::nanoseconds(1);
  if (!has_choices || !is_due) return Status::Ok();
  RefreshIndexFile(store, last_revision);
  indexed_ns_ = SteadyNowNs();
  ReadIndex();
  return Status::Ok();
}

void RecordsView::RefreshIndexFile(RecordStore& store, int64_t last_revision) {
  indexed_revision_ = last_revision;
  const auto refreshed = RefreshIndex(store, IndexPathOf(location_.database), select_);
  if (!refreshed.ok()) {
    AddNote(fmt::format("There is no index, so records are read from the database: {}",
                        refreshed.error().message()));
  }
}

}  // namespace attune
