#include "apps/attune/application.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/labels.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/terminal.h"
#include "attune/base/text.h"
#include "attune/base/unique_fd.h"
#include "attune/record/memory_store.h"
#include "attune/session/session_records.h"
#include "storage/sql/servers/database_servers.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

std::string Joined(const std::vector<std::pair<std::string, int64_t>>& tags) {
  std::string text;
  for (const auto& [tag, count] : tags) text += fmt::format("{}{}", text.empty() ? "" : ", ", tag);
  return text;
}

// Zeros for a missing file.
FileIdentity IdentityOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

// An empty field of `wanted` matches anything.
bool IsMeant(const Network& network, const Network& wanted) {
  const auto is = [](const std::string& value, const std::string& asked) {
    return asked.empty() || value == asked;
  };
  return is(network.model, wanted.model) && is(network.model_version, wanted.model_version) &&
         is(network.framework, wanted.framework) &&
         is(network.framework_version, wanted.framework_version);
}

// Standard error through a duplicated descriptor: DivertedErrors redirects the output of libraries,
// but not ours. Null if no descriptor is left.
std::FILE* OwnErrors() {
  UniqueFd own(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  std::FILE* const stream = own.valid() ? ::fdopen(own.get(), "w") : nullptr;
  if (stream == nullptr) return nullptr;
  (void)own.Release();
  (void)std::setvbuf(stream, nullptr, _IONBF, 0);
  return stream;
}

}  // namespace

Application::Application()
    : begin_ns_(SteadyNowNs()),
      errors_(OwnErrors(), &std::fclose),
      out_(stdout),
      err_(errors_ == nullptr ? stderr : errors_.get()),
      reconnecting_(SqlStoreOptions().reconnecting) {
  outages_ = std::make_shared<OutageLog>(
      [this](const std::string& line) {
        err_.Print(fmt::format("attune: {}\n", Printable(line)));
        err_.Flush();
      },
      reconnecting_);
}

Result<std::string> Application::DatabasePath() const {
  if (!database_.empty()) return database_;
  auto path = DefaultDatabasePath();
  if (path.ok()) return path;
  return FailedPrecondition(path.error().message() + " Name a database with --db FILE.");
}

const LoadedBackends& Application::backends() {
  if (!backends_) backends_ = std::make_unique<LoadedBackends>(LoadBackends());
  return *backends_;
}

const BackendList& Application::lazy_backends() {
  if (backends_) return backends_->list;
  if (lazy_backends_.empty()) lazy_backends_ = LazyBackends();
  return lazy_backends_;
}

Status Application::TakeStores(std::shared_ptr<SqlDatabase> database) {
  auto records = RecordsIn(database);
  auto sessions = SessionsIn(database);
  if (!session_name_.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(session_, sessions->Find(session_name_));
    session_records_ = RecordsOf(session_->id, *records, *sessions);
  }
  store_ = std::move(records);
  sessions_ = std::move(sessions);
  imports_ = ImportsIn(database);
  jobs_ = JobsIn(database);
  golden_ = GoldenIn(database);
  fleet_ = FleetIn(database);
  artifacts_ = ArtifactsIn(std::move(database));
  return Status::Ok();
}

SqlStoreOptions Application::StoreOptions() {
  SqlStoreOptions options;
  options.server_at = DatabaseServerAt;
  options.reconnecting = reconnecting_;
  options.outages = outages_;
  options.imported = [this](const SpoolImport& imported) {
    for (const std::string& complaint : imported.complaints) {
      err_.Print(fmt::format("attune: {}\n", Printable(complaint)));
    }
  };
  return options;
}

Status Application::ImportRecorded(const std::string& path) {
  if (IsOnServer(path)) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path file, SqlStorePath(path));
  std::string refused;
  if (!HasSpools(file, refused)) {
    if (!refused.empty()) err_.Print(fmt::format("attune: {}\n", Printable(refused)));
    return Status::Ok();
  }
  return OpenSqlDatabase(path, StoreOptions()).status();
}

Result<RecordStore*> Application::store() {
  if (store_) return session_records_ ? session_records_.get() : store_.get();
  if (!session_name_.empty()) ATTUNE_RETURN_IF_ERROR(CheckDatabaseExists());
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, DatabasePath());
  ATTUNE_ASSIGN_OR_RETURN(const auto database, OpenSqlDatabase(path, StoreOptions()));
  ATTUNE_RETURN_IF_ERROR(TakeStores(database));
  if (IsOnServer(path)) return store();
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path file, SqlStorePath(path));
  opened_ = IdentityOf(file);
  ATTUNE_ASSIGN_OR_RETURN(opened_state_, store_->State());
  return store();
}

Result<RecordStore*> Application::ExistingStore() {
  if (!store_) ATTUNE_RETURN_IF_ERROR(CheckDatabaseExists());
  return store();
}

Status Application::CheckDatabaseExists() const {
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, DatabasePath());
  if (IsOnServer(path)) return Status::Ok();  // Opening it makes no database.
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path file, SqlStorePath(path));
  if (IdentityOf(file) != FileIdentity{} || HasSpools(file)) return Status::Ok();
  const std::string none = fmt::format("There is no database '{}', and none was made.", path);
  if (session_name_.empty()) {
    return NotFound(fmt::format("{} Check the name after --db or in ATTUNE_DB.", none));
  }
  return NotFound(fmt::format(
      "{} So there is no session '{}'. Check the name after --db or in ATTUNE_DB; 'attune session "
      "new' makes a session, and a database for it.",
      none, session_name_));
}

Status Application::CheckDatabaseIsKept() const {
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, DatabasePath());
  if (IsOnServer(path)) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path file, SqlStorePath(path));
  const bool is_there = IdentityOf(file) == opened_;
  const Status kept = is_there ? CheckContentIsKept(path) : Status::Ok();
  if (is_there && kept.ok()) return Status::Ok();
  if (kept.code() == StatusCode::kUnavailable) return kept;
  return DataLoss(fmt::format(
      "The database '{}' was {} during the run, and what was measured is lost with it. Restore the "
      "file, or run the same command again.{}",
      file.string(), is_there ? "overwritten" : "removed or replaced",
      kept.ok() ? "" : fmt::format(" ({})", kept.message())));
}

Status Application::CheckContentIsKept(const std::string& path) const {
  SqlStoreOptions options;
  options.use = StoreUse::kRead;
  // Our own connection still has pages in memory that the file has lost.
  ATTUNE_ASSIGN_OR_RETURN(const auto database, OpenSqlDatabase(path, options));
  ATTUNE_ASSIGN_OR_RETURN(const StoreState found, RecordsIn(database)->State());
  ATTUNE_ASSIGN_OR_RETURN(const StoreState written, store_->State());
  if (found.database_id != opened_state_.database_id) {
    return DataLoss("It is another database.");
  }
  const int64_t last = std::max(opened_state_.last_revision, written.last_revision);
  if (found.last_revision >= last) return Status::Ok();
  return DataLoss(
      fmt::format("It ends at revision {}, and {} was written.", found.last_revision, last));
}

Result<RecordStore*> Application::StoreToRead() {
  if (store_) return store();
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, DatabasePath());
  const Status imported = ImportRecorded(path);
  SqlStoreOptions options = StoreOptions();
  options.use = StoreUse::kRead;
  auto opened = OpenSqlDatabase(path, options);
  if (opened.ok()) {
    if (!imported.ok()) {
      err_.Print(fmt::format("attune: cannot import recorded problems: {}\n",
                             Printable(imported.message())));
    }
    ATTUNE_RETURN_IF_ERROR(TakeStores(*opened));
    return store();
  }
  if (opened.error().code() != StatusCode::kNotFound) return opened.error();
  if (!imported.ok()) return imported.WithContext("cannot import recorded problems");
  if (!database_.empty()) {
    return NotFound(fmt::format(
        "{} Check the name after --db or in ATTUNE_DB. 'attune import', 'attune session "
        "new' and 'attune miopen import' with --db {} make it.",
        opened.error().message(), ShellWord(database_)));
  }
  if (!session_name_.empty()) {
    return NotFound(fmt::format(
        "There is no session '{}', nor anything else yet. 'attune session new {}' makes it.",
        session_name_, session_name_));
  }
  store_ = std::make_unique<MemoryStore>();
  return store_.get();
}

Result<ImportStore*> Application::imports() {
  ATTUNE_RETURN_IF_ERROR(store().status());
  return imports_.get();
}

Result<ImportStore*> Application::ImportsToRead() {
  ATTUNE_RETURN_IF_ERROR(StoreToRead().status());
  return imports_.get();
}

Result<std::string> Application::DeviceOf(const std::string& named) {
  if (session_name_.empty()) return named.empty() ? std::string("cpu") : named;
  ATTUNE_RETURN_IF_ERROR(StoreToRead().status());
  if (!named.empty()) {
    ATTUNE_RETURN_IF_ERROR(CheckDeviceOfSession(named));
    return named;
  }
  const SessionTerms& terms = session_->terms;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Place> place, FindDeviceFor(*this, terms));
  if (place.has_value()) return place->device_spec;
  return Unavailable(fmt::format(
      "Session '{}' is measured on {}, which is not here.{} 'attune devices' says what is missing; "
      "run this where the device is.",
      session_->name, SubjectOf(terms), OtherDevicesHere(*this, terms)));
}

Status Application::CheckDeviceOfSession(const std::string& named) {
  const SessionTerms& terms = session_->terms;
  ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlace(lazy_backends(), named));
  const std::string here = Text(place.target);
  const std::string there = SubjectOf(terms);
  if (terms.backend != place.target.backend || terms.arch != place.target.arch) {
    return FailedPrecondition(
        fmt::format("Nothing of session '{}', which is of {}, holds on --device {}, which is {}. "
                    "Leave --device out, or name one of the session's kind.",
                    session_->name, there, named, here));
  }
  if (terms.target.has_value() && *terms.target != place.target) {
    err_.Print(
        fmt::format("Session '{}' is of {}, and --device {} is {}: of the same architecture, "
                    "but not what was measured.\n",
                    Printable(session_->name), there, named, here));
  }
  return Status::Ok();
}

Result<std::vector<TaggedProblem>> Application::ProblemsOf(const std::string& tag) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * records, store());
  ATTUNE_ASSIGN_OR_RETURN(const auto tags, records->Tags());
  for (const auto& [name, count] : tags) {
    if (name == tag) return records->Problems(tag);
  }
  const std::string known =
      tags.empty() ? "The database has none yet; 'attune import FILE --tag TAG' makes one."
                   : fmt::format("Tags here: {}.", Joined(tags));
  return NotFound(fmt::format("There is no tag '{}'. {}", tag, known));
}

Result<std::vector<NetworkProblems>> Application::NetworksOf(const std::string& model,
                                                             const std::string& framework) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * records, store());
  ATTUNE_ASSIGN_OR_RETURN(const Network wanted, NetworkOf(model, framework));
  ATTUNE_ASSIGN_OR_RETURN(const auto networks, records->Networks());
  std::vector<NetworkProblems> found;
  std::set<std::string> names;  // As --model takes them, or with what --framework takes.
  std::string known;
  for (const auto& [network, count] : networks) {
    const std::string name =
        framework.empty() ? NameAndVersion(network.model, network.model_version) : Label(network);
    if (names.insert(name).second) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    if (!IsMeant(network, wanted)) continue;
    ATTUNE_ASSIGN_OR_RETURN(auto problems, records->ProblemsOf(network));
    found.push_back({network, std::move(problems)});
  }
  if (!found.empty()) return found;
  const std::string of_framework =
      framework.empty() ? "" : fmt::format(" and framework '{}'", Excerpt(framework));
  return NotFound(fmt::format(
      "There is no network of model '{}'{}. {}", Excerpt(model), of_framework,
      known.empty()
          ? "The database has none yet; 'attune import FILE --tag TAG --model NAME' makes one."
          : fmt::format("{} here: {}.", framework.empty() ? "Models" : "Networks", known)));
}

Result<std::vector<TaggedProblem>> Application::ProblemsOfSession() {
  ATTUNE_ASSIGN_OR_RETURN(auto problems, sessions_->Problems(session_->id));
  if (!problems.empty()) return problems;
  if (session_->is_closed()) return RefusedAsClosed(*session_, "it has no problems and gets none");
  return FailedPrecondition(fmt::format(
      "Session '{0}' has no problems yet. 'attune import FILE --tag TAG --session {1}' "
      "brings some, and 'attune jobs load --session {1} --tag TAG' those of a tag that is there.",
      Printable(session_->name), ShellWord(session_->name)));
}

std::string_view ProgramVersion() { return "attune " ATTUNE_VERSION; }

}  // namespace attune
