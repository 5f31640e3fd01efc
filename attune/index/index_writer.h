// Makes index files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "attune/base/status.h"
#include "attune/index/choice_index.h"
#include "attune/index/memory_choices.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"

namespace attune {

// The path of the index of a database: beside it, with ".index" added. `database` is a path,
// "sqlite:PATH" or "sqlite://PATH".
std::filesystem::path IndexPathOf(std::string_view database);

// The result of RefreshIndex.
struct IndexRefresh {
  IndexIdentity identity;  // Identity of the new file.
  int64_t problems = 0;
  int64_t sets_read = 0;   // Sets of the store that are newer than the old index.
  bool rebuilt = false;    // The old file was absent, damaged, of another version or database.
  bool unchanged = false;  // No set was newer than the file, which was not written.
};

// Updates the index at `path` to the records of `store`: keeps the content of an old file of this
// store, and adds newer sets. The new file appears by rename after fsync, mode 0644 less the umask,
// so a reader sees the old one or the new one. Processes and threads that refresh at the same time
// take turns, and wait for at most kIndexPatienceMs. A failure leaves the old file.
//
//   kUnavailable        The folder cannot be written, or another refresh takes too long.
//   kResourceExhausted  The disk is full, or there are more environments than an index holds.
//   Otherwise as the store fails.
Result<IndexRefresh> RefreshIndex(RecordStore& store, const std::filesystem::path& path,
                                  const SelectOptions& options);
inline constexpr int64_t kIndexPatienceMs = 10'000;

// The sets of `store` with a record newer than `after_revision`, as choices: the overlay of a
// reader with an older index. Sets `last_revision` to the newest revision that it covers.
Result<std::unique_ptr<MemoryChoices>> ReadNewerChoices(RecordStore& store, int64_t after_revision,
                                                        const SelectOptions& options,
                                                        int64_t* last_revision);

}  // namespace attune
