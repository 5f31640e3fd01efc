// The choices that a run time can see: what was tuned since its index was written, over the index,
// over packages.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/choice/choice_source.h"
#include "attune/index/choice_index.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"

namespace attune {

struct RecordsLocation {
  std::string database;                         // Path; empty for none.
  std::vector<std::filesystem::path> packages;  // Folders with a file "index", uppermost first.
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
  // is none. True if choices() changed. Opens the database, if there is one.
  Result<bool> Update();

  // Adds `problem` to `tag`, in a database that is made if there is none.
  Status Note(std::string_view tag, const Problem& problem);

 private:
  Result<RecordStore*> Store();
  void MapIndex();
  void Publish();

  const RecordsLocation location_;
  const SelectOptions select_;
  mutable std::mutex mutex_;  // Guards choices_ and notes_.
  std::shared_ptr<const ChoiceSource> choices_;
  std::vector<std::string> notes_;
  std::mutex update_mutex_;  // Guards everything below: one update at a time.
  std::unique_ptr<RecordStore> store_;
  std::vector<std::shared_ptr<const ChoiceSource>> packages_;
  std::shared_ptr<const ChoiceIndex> index_;
  std::filesystem::file_time_type index_written_{};
  // Newer than the index, newest first.
  std::vector<std::shared_ptr<const ChoiceSource>> overlays_;
  int64_t seen_revision_ = 0;
};

}  // namespace attune
