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
  int64_t size_bytes = 0;
  int64_t changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// What a database is made of, as of when.
struct DatabaseStamp {
  FileStamp file;
  FileStamp log;

  friend bool operator==(const DatabaseStamp&, const DatabaseStamp&) = default;
};

// Thread-safe. Callers read choices(); only the background reads the database, and has it open only
// while it reads: the program may take descriptors that it does not know.
class RecordsView {
 public:
  // Reads the index that is there: no file is an error, a damaged one is left out with a note.
  RecordsView(RecordsLocation location, SelectOptions select);
  // What is known now. Never null.
  std::shared_ptr<const ChoiceSource> choices() const;
  // What was left out, and why.
  std::vector<std::string> notes() const;

  // Reads what the database has beyond the index, or a newer index; makes the index if there is
  // none or if it turned out to be damaged. True if choices() changed. Opens the database if it has
  // changed; a failure is in notes(), too.
  Result<bool> Update();
  // Lets an update in progress, and every later one, fail soon.
  void StopUpdates() { is_stopped_ = true; }

 private:
  Result<bool> ReadIfChanged();
  Result<bool> ReadNews(RecordStore& store);
  // Puts the news of the database over the index. REQUIRES: there are some.
  Status AddOverlay(RecordStore& store);
  void RefreshIndexFile(RecordStore& store, int64_t last_revision);
  bool ReadIndex();
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
  std::mutex update_mutex_;  // Guards everything below: one update at a time.
  std::atomic<bool> is_stopped_{false};
  DatabaseStamp read_;  // All of it was read then; none: it has to be read.
  std::shared_ptr<const ChoiceIndex> index_;
  FileStamp index_file_;
  bool is_index_file_damaged_ = false;  // What index_ is serves on.
  // Newer than the index, newest first.
  std::vector<std::shared_ptr<const ChoiceSource>> overlays_;
  std::string database_id_;       // Of index_ and overlays_.
  int64_t seen_revision_ = 0;     // index_ and overlays_ reach up to it.
  int64_t indexed_revision_ = 0;  // Up to it, an index was made or could not be made.
  int64_t indexed_ns_ = 0;        // When that was tried because of new choices; 0: never.
};

}  // namespace attune
