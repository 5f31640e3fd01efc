// The file into which one process writes what it records.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/spool/spool_folder.h"
#include "attune/spool/spool_format.h"

namespace attune {

// What waits to be imported: bytes of one process, and files of a folder. More is lost, and told.
inline constexpr size_t kMaxSpoolBytes = size_t{64} << 20;
inline constexpr size_t kMaxSpoolFiles = size_t{1} << 16;
// Beyond kMaxSpoolBytes, for lines that say what was lost.
inline constexpr size_t kSpoolReserveBytes = size_t{64} << 10;

// The id of the run in a file's name; empty if it has none.
std::string RunOf(std::string_view name);

// Why lines were not appended.
struct SpoolRefusal {
  enum class Kind {
    kNone,
    kSystem,  // `value` is the number of the error.
    kFiles,   // As many files wait to be imported as may.
    kBytes,   // `value` bytes of this process wait, and there may be no more.
    kInUse,   // Importers hold every name that was tried.
  };
  Kind kind = Kind::kNone;
  int64_t value = 0;

  bool any() const { return kind != Kind::kNone; }
};

// Nothing stays open between two calls of Append(), because the program may close any descriptor
// and use its number again. An importer may remove the file meanwhile; the next call makes it
// again. Not thread-safe.
class SpoolFile {
 public:
  // `header` is made up with the id and the name of this process.
  SpoolFile(SpoolPlace place, SpoolHeader header, size_t max_bytes = kMaxSpoolBytes);

  // Appends whole lines, all or none of them. kResourceExhausted for a full disk, quota or file.
  Status Append(std::string_view lines);
  // The same without memory of the heap, for a process that ends, perhaps inside of malloc(). No
  // folders above that of the spool are made, and none of another user than before.
  SpoolRefusal AppendAtOnce(std::string_view lines);
  // What is wrong, in words for a reason.
  static const char* Describe(const SpoolRefusal& refusal);
  // As Append() for LossLine()s, for which there is room beyond the limit.
  Status AppendLoss(std::string_view lines) { return Write(lines, kSpoolReserveBytes); }

  // Of the effective user, for messages.
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
  uid_t user_ = 0;  // Whose folder it is: a process may become another user's.
  std::filesystem::path folder_;
  std::string head_;       // Text(header_).
  std::string base_name_;  // "PID-STARTED-RANDOM".
  std::string name_;       // With room for a number.
  int number_ = 0;         // Of names that were given up, because an importer holds their files.
  bool has_counted_files_ = false;
  bool is_torn_ = false;  // The file may end inside of a line.
};

}  // namespace attune
