// The choices that a run time can see: what was tuned since its index was written, over the index,
// over packages.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/choice/choice_source.h"
#include "attune/index/choice_index.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"

namespace attune {

struct RecordsLocation {
  std::string database;                                       // Path; empty for none.
  std::vector<std::shared_ptr<const ChoiceSource>> packages;  // Their indexes, uppermost first.
  // Told why the database cannot be used, by any thread and perhaps again and again; null: nobody.
  std::function<void(const Status&)> unusable = nullptr;
};

// Which file a path named, and as of when.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: no file.
  int64_t changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Thread-safe. Callers read choices(); only the background reads the database.
class RecordsView {
 public:
  // Maps what is there: no file is an error, a damaged one is left out with a note.
  RecordsView(RecordsLocation location, SelectOptions select);
  // What is known now. Never null.
  std::shared_ptr<const ChoiceSource> choices() const;
  // What was left out, and why.
  std::vector<std::string> notes() const;

  // Reads what the database has beyond the index, or maps a newer index; makes the index if there
  // is none or if it turned out to be damaged. True if choices() changed. Opens the database, if
  // there is one; a failure is in notes(), too.
  Result<bool> Update();

 private:
  Result<RecordStore*> Store();
  Result<bool> ReadNews();
  void RefreshIndexFile(RecordStore& store, int64_t last_revision);
  bool MapIndex();
  void ForgetIndex();
  void Publish();
  void AddNote(std::string note);
  void NoteIfUnreachable();
  void NoteUnusable(const Status& why) const;

  const RecordsLocation location_;
  const SelectOptions select_;
  // Shared with the layers that set it, which callers may still be reading.
  const std::shared_ptr<std::atomic<bool>> is_damaged_;
  mutable std::mutex mutex_;  // Guards the next two.
  std::shared_ptr<const ChoiceSource> choices_;
  std::vector<std::string> notes_;
  std::mutex update_mutex_;             // Guards everything below: one update at a time.
  std::unique_ptr<RecordStore> store_;  // To read.
  FileStamp store_file_;
  std::shared_ptr<const ChoiceIndex> index_;
  FileStamp index_file_;
  // Newer than the index, newest first.
  std::vector<std::shared_ptr<const ChoiceSource>> overlays_;
  std::string database_id_;       // Of index_ and overlays_.
  int64_t seen_revision_ = 0;     // index_ and overlays_ reach up to it.
  int64_t indexed_revision_ = 0;  // Up to it, an index was made or could not be made.
  int64_t indexed_ns_ = 0;        // When that was tried because of new choices; 0: never.
};

}  // namespace attune
