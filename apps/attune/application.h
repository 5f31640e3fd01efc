// Streams, backends and the record store that main() builds for the verbs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/attune/terminal.h"
#include "attune/base/outage_log.h"
#include "attune/base/status.h"
#include "attune/base/steady_time.h"
#include "attune/record/import_store.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/session/artifact_store.h"
#include "attune/session/fleet_store.h"
#include "attune/session/golden_store.h"
#include "attune/session/job_store.h"
#include "attune/session/session_store.h"
#include "attune/solver/backend.h"
#include "runtime/places.h"

namespace attune {

class SqlDatabase;
struct SqlStoreOptions;

// Exit statuses of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPartly = 3;

// A network with how often it computes each of its problems.
struct NetworkProblems {
  Network network;
  std::vector<TaggedProblem> problems;
};

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
  Application();

  // When the program began, by the steady clock.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t ElapsedNs() const { return SteadyNowNs() - begin_ns_; }

  Output& out() { return out_; }
  Output& err() { return err_; }

  // Set by --db, before or after the verb.
  void SetDatabase(std::string path) { database_ = std::move(path); }

  // Set by --session, before the store is opened: from then on the records are those of the session
  // alone, and measurements are refused unless they belong to it.
  void UseSession(std::string name) { session_name_ = std::move(name); }

  // SqlStoreOptions::outages and reconnecting, instead of standard error and half a minute. Set
  // before a store is opened.
  void WaitForDatabase(std::chrono::milliseconds reconnecting, std::shared_ptr<OutageLog> outages) {
    reconnecting_ = reconnecting;
    outages_ = std::move(outages);
  }

  bool names_session() const { return !session_name_.empty(); }

  const LoadedBackends& backends();
  // The same, but each backend is loaded when its devices are first used, host first: for verbs
  // that look at one device and have to answer at once. Equal to backends() if those are loaded: a
  // verb that needs all of them loads them first, so that a device has one backend.
  const BackendList& lazy_backends();
  // As --db or ATTUNE_DB has it; empty if neither does.
  const std::string& named_database() const { return database_; }
  // Opens, and creates if there is none yet: with --session only an existing one (ExistingStore),
  // because a new database has no session.
  Result<RecordStore*> store();
  // For verbs that change existing data: kNotFound where there is no database, and none is made.
  Result<RecordStore*> ExistingStore();
  // For verbs that only read, which need no write permission: opens an existing database. The
  // default database may be missing, which gives an empty store; a database that --db names must
  // exist. A verb uses this or store(), not both.
  Result<RecordStore*> StoreToRead();
  // Records of all sessions and of none, independent of --session. REQUIRES: a store is open.
  RecordStore& all_records() { return *store_; }
  // The device that a verb works on: `named`; if that is empty that of the session, else "cpu".
  // kUnavailable if the session's device is not here: for verbs that measure. Verbs that read
  // records need no device (FindRecordPlace). kFailedPrecondition for a device of another backend
  // or architecture, which cannot run the session's candidates; prints a note for another model of
  // the same architecture.
  Result<std::string> DeviceOf(const std::string& named);
  // Imports from other programs in the same database: of store(), or of StoreToRead(), whichever
  // the verb uses. Null if none are stored yet and the verb writes none.
  Result<ImportStore*> imports();
  Result<ImportStore*> ImportsToRead();
  // The sessions and their jobs, in the same way.
  SessionStore* sessions() { return sessions_.get(); }
  JobStore* jobs() { return jobs_.get(); }
  GoldenStore* golden() { return golden_.get(); }
  FleetStore* fleet() { return fleet_.get(); }
  ArtifactStore* artifacts() { return artifacts_.get(); }
  // The session of --session, once a store is open; nothing without that option.
  const std::optional<Session>& session() const { return session_; }
  // The database that store() opens: --db, else the default path.
  Result<std::string> DatabasePath() const;
  // kDataLoss if the database that store() opened was removed, replaced or overwritten since: data
  // written to it is gone.
  Status CheckDatabaseIsKept() const;
  // From the store that is open. kNotFound lists the tags that exist.
  Result<std::vector<TaggedProblem>> ProblemsOf(const std::string& tag);
  // The same for the networks of a model, MODEL or MODEL:VERSION, that `framework` runs, written in
  // the same way; of any framework if it is empty. At least one. kNotFound lists those that exist.
  Result<std::vector<NetworkProblems>> NetworksOf(const std::string& model,
                                                  const std::string& framework);
  // The problems of the session. kFailedPrecondition if it has none.
  Result<std::vector<TaggedProblem>> ProblemsOfSession();

 private:
  // Returns kNotFound, with a hint, if there is neither a database nor problems recorded for it.
  Status CheckDatabaseExists() const;
  // Options for opening a database. They print the complaints of importing recorded problems.
  SqlStoreOptions StoreOptions();
  // Imports recorded problems before a verb that only reads. Creates the database if needed.
  Status ImportRecorded(const std::string& path);
  // Checks that a separate connection finds in the file the content that store() opened and wrote.
  Status CheckContentIsKept(const std::string& path) const;
  Status CheckDeviceOfSession(const std::string& named);
  // All stores over `database`, or over none; with --session, the records of that.
  Status TakeStores(std::shared_ptr<SqlDatabase> database);

  const int64_t begin_ns_;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> errors_;
  Output out_;
  Output err_;
  std::chrono::milliseconds reconnecting_;
  std::shared_ptr<OutageLog> outages_;
  std::string database_;
  std::unique_ptr<LoadedBackends> backends_;
  BackendList lazy_backends_;
  std::unique_ptr<RecordStore> store_;
  std::unique_ptr<ImportStore> imports_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<GoldenStore> golden_;
  std::unique_ptr<FleetStore> fleet_;
  std::unique_ptr<ArtifactStore> artifacts_;
  std::string session_name_;
  std::optional<Session> session_;
  std::unique_ptr<RecordStore> session_records_;  // Records of session_, over store_.
  FileIdentity opened_;  // The database at the time of store(), and its state.
  StoreState opened_state_;
};

// "attune 0.1.0".
std::string_view ProgramVersion();
}  // namespace attune
