#include "attune/runtime/records_view.h"

#include <utility>

#include <fmt/format.h>

#include "attune/index/index_writer.h"
#include "attune/index/memory_choices.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// More layers than this make every miss slower than one more index file would cost.
constexpr size_t kMaxOverlays = 16;

}  // namespace

RecordsView::RecordsView(RecordsLocation location, SelectOptions select)
    : location_(std::move(location)), select_(std::move(select)) {
  for (const auto& package : location_.packages) {
    auto index = ChoiceIndex::Open(package / "index");
    if (index.ok()) {
      packages_.push_back(std::move(*index));
    } else {
      notes_.push_back(
          fmt::format("Package {} is not used: {}", package.string(), index.error().message()));
    }
  }
  MapIndex();
  Publish();
}

void RecordsView::MapIndex() {
  if (location_.database.empty()) return;
  const auto path = IndexPathOf(location_.database);
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error || (index_ != nullptr && written == index_written_)) return;
  auto index = ChoiceIndex::Open(path);
  if (!index.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes_.push_back(fmt::format("The index is not used: {}", index.error().message()));
    return;
  }
  index_written_ = written;
  index_ = std::move(*index);
  if (index_->identity().last_revision >= seen_revision_) {
    overlays_.clear();
    seen_revision_ = index_->identity().last_revision;
  }
}

void RecordsView::Publish() {
  std::vector<std::shared_ptr<const ChoiceSource>> layers = overlays_;
  if (index_ != nullptr) layers.push_back(index_);
  layers.insert(layers.end(), packages_.begin(), packages_.end());
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

Result<RecordStore*> RecordsView::Store() {
  if (store_ == nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(store_, OpenSqlStore(location_.database));
  }
  return store_.get();
}

Result<bool> RecordsView::Update() {
  if (location_.database.empty()) return false;
  const std::lock_guard<std::mutex> update(update_mutex_);
  std::error_code error;
  if (store_ == nullptr && !std::filesystem::exists(location_.database, error)) return false;
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, Store());
  ATTUNE_ASSIGN_OR_RETURN(const StoreState state, store->State());
  const auto before = index_;
  MapIndex();
  // An index of another database says nothing about this one.
  if (index_ != nullptr && index_->identity().database_id != state.database_id) index_ = nullptr;
  const bool has_newer = index_ == nullptr || state.last_revision > seen_revision_;
  if (has_newer && (index_ == nullptr || overlays_.size() >= kMaxOverlays)) {
    const auto refreshed = RefreshIndex(*store, IndexPathOf(location_.database), select_);
    if (refreshed.ok()) MapIndex();
    // Without a place for the file, the overlay alone serves.
  }
  if (state.last_revision > seen_revision_) {
    int64_t last_revision = seen_revision_;
    ATTUNE_ASSIGN_OR_RETURN(auto overlay,
                            ReadNewerChoices(*store, seen_revision_, select_, &last_revision));
    overlays_.insert(overlays_.begin(), std::move(overlay));
    seen_revision_ = last_revision;
  }
  if (!has_newer && before == index_) return false;
  Publish();
  return true;
}

Status RecordsView::Note(std::string_view tag, const Problem& problem) {
  if (location_.database.empty()) {
    return FailedPrecondition("This run time has no database to record problems in.");
  }
  const std::lock_guard<std::mutex> update(update_mutex_);
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, Store());
  const TaggedProblem tagged{problem, 1};
  return store->AddProblems(tag, {&tagged, 1});
}

}  // namespace attune
