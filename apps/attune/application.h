// What main() builds and hands to the verbs: streams, backends, the record store.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/attune/terminal.h"
#include "attune/base/status.h"
#include "attune/base/steady_time.h"
#include "attune/record/import_store.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/runtime/places.h"
#include "attune/solver/backend.h"

namespace attune {

// Exit statuses of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPartly = 3;

// Which file a path names: the same for as long as it is neither removed nor replaced.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};

// Not thread-safe. Loads and opens on first use, because `import` needs no OpenCL and `devices` no
// database.
class Application {
 public:
  Application() : begin_ns_(SteadyNowNs()), out_(stdout), err_(stderr) {}

  // When the program began, by the steady clock.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t ElapsedNs() const { return SteadyNowNs() - begin_ns_; }

  Output& out() { return out_; }
  Output& err() { return err_; }

  // Set by --db, before or after the verb.
  void SetDatabase(std::string path) { database_ = std::move(path); }

  const LoadedBackends& backends();
  // The same, each loaded when its devices are asked for, host first: for verbs that look at one
  // device and have to answer at once.
  const BackendList& lazy_backends();
  // As --db or ATTUNE_DB has it; empty if neither does.
  const std::string& named_database() const { return database_; }
  // Opens, and creates if there is none yet.
  Result<RecordStore*> store();
  // For verbs that only read, which need no right to write: opens what exists. Where nothing was
  // kept yet it is an empty store; a database that --db names must exist. A verb uses this or
  // store(), not both.
  Result<RecordStore*> StoreToRead();
  // What was imported of other programs, in the same database: of store(), or of StoreToRead(),
  // whichever the verb uses. Null where nothing was kept yet and nothing is to be written.
  Result<ImportStore*> imports();
  Result<ImportStore*> ImportsToRead();
  // What store() opens: --db, else the default path.
  Result<std::string> DatabasePath() const;
  // kDataLoss if the database that store() opened was removed or replaced since: what was written
  // to it is gone.
  Status CheckDatabaseIsKept() const;
  // From the store that is open. kNotFound lists the tags that exist.
  Result<std::vector<TaggedProblem>> ProblemsOf(const std::string& tag);

 private:
  const int64_t begin_ns_;
  Output out_;
  Output err_;
  std::string database_;
  std::unique_ptr<LoadedBackends> backends_;
  BackendList lazy_backends_;
  std::unique_ptr<RecordStore> store_;
  std::unique_ptr<ImportStore> imports_;
  FileIdentity opened_;  // Of the database, once store() opened it.
};

// "attune 0.1.0".
std::string_view ProgramVersion();
}  // namespace attune
