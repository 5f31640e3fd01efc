// Keeps the content of databases of other programs unchanged, with the file and the line: imports
// can be queried, and exported again unchanged.
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
  int64_t id = 0;           // Set by the store, increasing in the order of imports.
  std::string kind;         // Form of the lines: "miopen.find-db".
  std::string target;       // The other program's name of the device: "gfx906_60".
  std::string name;         // File name, without its folder.
  Fingerprint content;      // Hash of the whole file.
  std::string imported_by;  // user@host
  int64_t imported_unix_ns = 0;
  int64_t line_count = 0;  // Set by the store.
  // Set by the store when the file is finished, in one order with the revisions of records, so that
  // readers that follow revisions see it. 0 before.
  int64_t revision = 0;

  friend bool operator==(const ImportedFile&, const ImportedFile&) = default;
};

struct ImportedLine {
  Fingerprint key;     // Lookup key; any number of lines may have the same.
  int64_t number = 0;  // In the file, from 1 on.
  std::string text;    // Printable ASCII without line ends.

  friend bool operator==(const ImportedLine&, const ImportedLine&) = default;
};

// The result of importing a file.
enum class ImportEnd {
  kKept,
  kKnown,  // Another import of the same content finished first, and nothing of this one was kept.
};

// Thread-safe. Writes are durable when a method returns Ok.
class ImportStore {
 public:
  virtual ~ImportStore() = default;

  // Begins a file that is invisible until it is finished; one that is never finished is never seen.
  // Returns its id. Fields that the store sets are ignored. kInvalidArgument for a kind, target or
  // name that is empty or longer than kMaxImportedName. The import is alive as long as this store
  // and its process.
  virtual Result<int64_t> Begin(const ImportedFile& file) = 0;
  // All or nothing, in order. kNotFound for a file that was not begun, kFailedPrecondition for a
  // finished one, kInvalidArgument for text that is not printable ASCII.
  virtual Status Append(int64_t file_id, std::span<const ImportedLine> lines) = 0;
  // kKnown if a file of the same kind, target and content is finished already. Concurrent imports
  // of one file keep one. Fails as Append does.
  virtual Result<ImportEnd> Finish(int64_t file_id) = 0;
  // Makes a finished file the newest of its kind and target again, by a new revision. False if it
  // was the newest already.
  virtual Result<bool> Renew(int64_t file_id) = 0;
  // Removes unfinished files that no live process imports, such as those of a killed process.
  virtual Status RemoveAbandoned() = 0;

  // Finished files, in order of their revisions.
  virtual Result<std::vector<ImportedFile>> Files() = 0;
  // Every line of a file in the order in which it was appended. A failure of `visit` ends it.
  virtual Status Visit(int64_t file_id,
                       const std::function<Status(const ImportedLine&)>& visit) = 0;
  // The lines under `key` of all finished files, the newest file first.
  virtual Result<std::vector<std::pair<ImportedFile, ImportedLine>>> Find(
      const Fingerprint& key) = 0;
};

inline constexpr size_t kMaxImportedName = 255;

}  // namespace attune
