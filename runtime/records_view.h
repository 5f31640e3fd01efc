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
#include "attune/index/choice_index.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/trial/choice_source.h"

namespace attune {

struct RecordsLocation {
  std::string database;                                       // Path; empty for none.
  std::vector<std::shared_ptr<const ChoiceSource>> packages;  // Their indexes, uppermost first.
  // Receives the reason why the database cannot be used, on any thread, perhaps repeatedly. May be
  // null.
  std::function<void(const Status&)> unusable = nullptr;
  // The same for a damaged index, which is made anew where that is possible.
  std::function<void(const std::string&)> damaged = nullptr;
};

// Which file a path named, and as of when.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: no file.
  int64_t size_bytes = 0;
  int64_t changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The files of a database at one moment.
struct DatabaseStamp {
  FileStamp file;
  FileStamp log;

  friend bool operator==(const DatabaseStamp&, const DatabaseStamp&) = default;
};

// Thread-safe. Callers read choices(). Only the background reads the database, and keeps it open
// only while reading: the program may close descriptors that it does not know.
class RecordsView {
 public:
  // Reads the existing index. A missing index is no error; a damaged one is skipped with a note.
  RecordsView(RecordsLocation location, SelectOptions select);
  // What is known now. Never null.
  std::shared_ptr<const ChoiceSource> choices() const;
  // What was left out, and why.
  std::vector<std::string> notes() const;

  // Reads records that are newer than the index, or a newer index. Creates the index if it is
  // missing or damaged. True if choices() changed. Opens the database only if it has changed. A
  // failure also appears in notes().
  Result<bool> Update();
  // Makes an update in progress, and every later one, fail soon.
  void StopUpdates() { is_stopped_ = true; }

 private:
  Result<bool> ReadIfChanged();
  Result<bool> ReadNews(RecordStore& store);
  // Layers new records over the index. REQUIRES: there are some.
  Status AddOverlay(RecordStore& store);
  void RefreshIndexFile(RecordStore& store, int64_t last_revision);
  bool ReadIndex();
  void ForgetIndex();
  void Publish();
  void AddNote(std::string note);
  void NoteIfUnreachable();
  void NoteDamaged(const std::string& why) const;
  void NoteUnusable(const Status& why) const;

  const RecordsLocation location_;
  const SelectOptions select_;
  // Shared with the layers that set it, which callers may still be reading.
  const std::shared_ptr<std::atomic<bool>> is_damaged_;
  mutable std::mutex mutex_;  // Guards the next two.
  std::shared_ptr<const ChoiceSource> choices_;
  std::vector<std::string> notes_;
  std::mutex update_mutex_;  // Guards everything below: one update at a time.
  std::atomic<bool> is_stopped_{false};
  DatabaseStamp read_;  // State at the last full read; empty: must read.
  std::shared_ptr<const ChoiceIndex> index_;
  FileStamp index_file_;
  bool is_index_file_damaged_ = false;  // index_ keeps serving.
  // Newer than the index, newest first.
  std::vector<std::shared_ptr<const ChoiceSource>> overlays_;
  std::string database_id_;       // Of index_ and overlays_.
  int64_t seen_revision_ = 0;     // index_ and overlays_ reach up to it.
  int64_t indexed_revision_ = 0;  // Up to it, an index was made or could not be made.
  int64_t indexed_ns_ = 0;        // When that was tried because of new choices; 0: never.
};

}  // namespace attune
