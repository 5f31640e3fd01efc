// Keeps what databases of other programs say, as they say it, with the file and the line: what was
// imported can be asked, and written again as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"

namespace attune {

struct ImportedFile {
  int64_t id = 0;           // Given by the store, increasing in the order of imports.
  std::string kind;         // Whose form the lines have: "miopen.find-db".
  std::string target;       // The device as the other program names it: "gfx906_60".
  std::string name;         // Of the file, without its folder.
  Fingerprint content;      // Of the whole file.
  std::string imported_by;  // user@host
  int64_t imported_unix_ns = 0;
  int64_t line_count = 0;  // Given by the store.
  // Given by the store when the file is finished, in one order with the revisions of records: who
  // follows those hears of it. 0 before.
  int64_t revision = 0;

  friend bool operator==(const ImportedFile&, const ImportedFile&) = default;
};

struct ImportedLine {
  Fingerprint key;     // What it is asked by; any number of lines may have the same.
  int64_t number = 0;  // In the file, from 1 on.
  std::string text;    // Printable ASCII without line ends.

  friend bool operator==(const ImportedLine&, const ImportedLine&) = default;
};

// How the import of a file ended.
enum class ImportEnd {
  kKept,
  kKnown,  // Another one of the same content ended first, and nothing of this one was kept.
};

// Thread-safe. What is written is durable when a method returns Ok.
class ImportStore {
 public:
  virtual ~ImportStore() = default;

  // A file that is there for nobody before it is finished; one that never is is never seen. Returns
  // its id. What the store gives does not count. kInvalidArgument for a kind, target or
  // name that is empty or longer than kMaxImportedName. It is being imported as long as this store
  // and its process live.
  virtual Result<int64_t> Begin(const ImportedFile& file) = 0;
  // All or nothing, in order. kNotFound for a file that was not begun, kFailedPrecondition for one
  // that is finished, kInvalidArgument for text that is no printable ASCII.
  virtual Status Append(int64_t file_id, std::span<const ImportedLine> lines) = 0;
  // kKnown if a file of the same kind, target and content is finished already. Of several that are
  // imported at the same time one is kept. Fails as Append does.
  virtual Result<ImportEnd> Finish(int64_t file_id) = 0;
  // Makes a finished file the newest of its kind and target again, by a new revision. Whether it
  // was not so before.
  virtual Result<bool> Renew(int64_t file_id) = 0;
  // Removes what was begun, is not finished and is being imported by nobody any more, such as by a
  // process that was killed.
  virtual Status RemoveAbandoned() = 0;

  // Those that are finished, in order of their revisions.
  virtual Result<std::vector<ImportedFile>> Files() = 0;
  // Every line of a file in the order in which it was appended. A failure of `visit` ends it.
  virtual Status Visit(int64_t file_id,
                       const std::function<Status(const ImportedLine&)>& visit) = 0;
  // The lines under `key` of all files that are finished, the newest file first.
  virtual Result<std::vector<std::pair<ImportedFile, ImportedLine>>> Find(
      const Fingerprint& key) = 0;
};

inline constexpr size_t kMaxImportedName = 255;

}  // namespace attune
