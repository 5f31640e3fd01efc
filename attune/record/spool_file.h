// The file to which one process writes its recorded problems.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/record/spool_folder.h"
#include "attune/record/spool_format.h"

namespace attune {

// Limits for waiting data: bytes of one process and files of a folder. Problems beyond them are
// lost and reported.
inline constexpr size_t kMaxSpoolBytes = size_t{64} << 20;
inline constexpr size_t kMaxSpoolFiles = size_t{1} << 16;
// Room beyond kMaxSpoolBytes, for lines that report losses.
inline constexpr size_t kSpoolReserveBytes = size_t{64} << 10;

// The ID of the run in a file name; empty if there is none.
std::string RunOf(std::string_view name);

// The reason why lines were not appended.
struct SpoolRefusal {
  enum class Kind {
    kNone,
    kSystem,  // `value` is the errno.
    kFiles,   // kMaxSpoolFiles files wait to be imported.
    kBytes,   // `value` bytes of this process wait: the limit.
    kInUse,   // Importers hold every file that was tried.
  };
  Kind kind = Kind::kNone;
  int64_t value = 0;

  bool any() const { return kind != Kind::kNone; }
};

// Keeps no file open between calls of Append(), because the program may close any descriptor and
// reuse its number. An importer may remove the file; the next call creates it again. Not
// thread-safe.
class SpoolFile {
 public:
  // The constructor fills in the database, the process, its start time and its program in `header`.
  SpoolFile(SpoolPlace place, SpoolHeader header, size_t max_bytes = kMaxSpoolBytes);

  // Appends whole lines, all or none. kResourceExhausted if the disk, the quota or the file is
  // full.
  Status Append(std::string_view lines);
  // As Append() without heap memory, for a process that ends, perhaps inside malloc(). Creates no
  // parent folders. Fails with EPERM if the effective user has changed.
  SpoolRefusal AppendAtOnce(std::string_view lines);
  // The reason in words.
  static const char* Describe(const SpoolRefusal& refusal);
  // As Append() for LossLine()s, which may use the reserve beyond the limit.
  Status AppendLoss(std::string_view lines) { return Write(lines, kSpoolReserveBytes); }

  // The folder of the effective user, for messages.
  const std::filesystem::path& folder() const { return folder_; }
  const SpoolPlace& place() const { return place_; }
  const SpoolHeader& header() const { return header_; }

 private:
  Status Write(std::string_view lines, size_t beyond);
  SpoolRefusal TryWrite(std::string_view lines, size_t beyond);
  UniqueFd OpenLocked(int folder, SpoolRefusal& refusal);
  SpoolRefusal WriteLocked(int fd, std::string_view lines, size_t beyond);
  Status StatusOf(const SpoolRefusal& refusal) const;
  void NextName();

  const SpoolPlace place_;
  SpoolHeader header_;
  const size_t max_bytes_;
  uid_t user_ = 0;  // Owner of folder_; the effective user may change.
  std::filesystem::path folder_;
  std::string head_;       // Text(header_).
  std::string base_name_;  // "PID-STARTED-RANDOM-RUN".
  std::string name_;       // Has capacity for a number.
  int number_ = 0;         // Names abandoned to importers that hold their files.
  bool has_counted_files_ = false;
  bool is_torn_ = false;  // The file may end inside a line.
};

}  // namespace attune
