#include "storage/sql/spool_import.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/text.h"
#include "attune/base/unix_time.h"
#include "attune/record/record.h"
#include "attune/record/recording_run.h"
#include "attune/record/rules.h"
#include "attune/record/spool_file.h"
#include "attune/record/spool_folder.h"
#include "attune/record/spool_format.h"
#include "storage/sql/list_rows.h"
#include "storage/sql/sql_database.h"

namespace attune {
namespace {

// The maximum number of files that one transaction imports. Each is open until the commit.
constexpr size_t kMaxFiles = 64;
constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr size_t kMaxComplaints = 20;
// Without locks, a file that has not changed for this long is complete.
constexpr int64_t kQuietNs = 60'000'000'000;

// An open spool with the lock that stops its process from appending to it.
struct OpenSpool {
  std::string name;
  UniqueFd fd;
  bool is_locked = false;
  bool is_kept = false;  // Imported, but not removed.
  SpoolContent content;
};

class Importer {
 public:
  Importer(SqlDatabase& database, const SpoolImportOptions& options)
      : database_(database),
        options_(options),
        deadline_(std::chrono::steady_clock::now() + options.patience) {}

  void Import(const SpoolFolder& folder) {
    for (const std::string& name : NamesIn(folder.fd.get(), kSpoolSuffix, kMaxSpoolFiles)) {
      Add(folder, name);
      if (batch_.size() < kMaxFiles && batch_bytes_ < kMaxBytes) continue;
      if (!CommitBatch(folder)) return;
    }
    if (!CommitBatch(folder)) return;
    RemoveDeadRuns(folder.fd.get());
    ::rmdir(folder.path.c_str());  // Succeeds only if it is empty.
  }

  SpoolImport Take() && { return std::move(import_); }
  void Complain(std::string sentence) {
    if (import_.complaints.size() < kMaxComplaints) {
      import_.complaints.push_back(std::move(sentence));
    }
  }

 private:
  void Add(const SpoolFolder& folder, const std::string& name) {
    const int folder_fd = folder.fd.get();
    const std::filesystem::path path = folder.path / name;
    OpenSpool spool;
    spool.name = name;
    spool.fd = OpenIn(folder_fd, name.c_str(), O_RDWR);
    if (!spool.fd.valid()) return ComplainOfOther(folder, name, errno);
    const auto is_spool = [&] {
      return IsSpoolOf(folder.owner, spool.fd.get(), folder_fd, name.c_str());
    };
    if (!is_spool()) return ComplainOfOther(folder, name, 0);
    if (!Lock(spool)) {
      Complain(fmt::format("'{}' is not imported: another process holds it.", path.string()));
      return;
    }
    if (!is_spool()) return;
    const Status read = Read(path, spool);
    if (read.ok()) {
      Judge(folder, spool);
      batch_.push_back(std::move(spool));
      return;
    }
    Complain(fmt::format("'{}' is not imported: {}.", path.string(), read.message()));
    if (read.code() != StatusCode::kDataLoss || !options_.is_told) return;
    // Reported once, and kept for a user with the right to read it.
    ::renameat(folder_fd, name.c_str(), folder_fd, (name + ".damaged").c_str());
  }

  // Reports why a name is not imported: `error` kept it from being opened, or it is not a regular
  // file of the owner with one name.
  void ComplainOfOther(const SpoolFolder& folder, const std::string& name, int error) {
    struct stat info {};
    const int fd = folder.fd.get();
    // Another importer has removed it.
    if (error == ENOENT || ::fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    const std::string path = (folder.path / name).string();
    const bool is_linked =
        S_ISREG(info.st_mode) && info.st_uid == folder.owner && info.st_nlink > 1;
    if (is_linked) {
      return Complain(fmt::format(
          "'{0}' is not imported: it has {1} names (hard links). 'cp -p {0} {0}.copy && mv "
          "{0}.copy {0}' makes it a file of its own.",
          path, info.st_nlink));
    }
    const bool is_own = S_ISREG(info.st_mode) && info.st_uid == folder.owner;
    if (is_own && error == 0) return;  // It has just been replaced.
    Complain(fmt::format("'{}' is not imported: {}.", path,
                         is_own ? std::strerror(error)
                                : fmt::format("it is no regular file of user {}", folder.owner)));
  }

  bool Lock(OpenSpool& spool) const {
    constexpr std::chrono::milliseconds kPoll{2};
    while (::flock(spool.fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return true;  // The file system has no locks.
      if (std::chrono::steady_clock::now() >= deadline_) return false;
      std::this_thread::sleep_for(kPoll);
    }
    spool.is_locked = true;
    return true;
  }

  Status Read(const std::filesystem::path& path, OpenSpool& spool) {
    struct stat info {};
    if (::fstat(spool.fd.get(), &info) != 0) return SystemError("look at", path);
    const int64_t changed_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    spool.is_kept = !spool.is_locked && changed_ns + kQuietNs > UnixNowNs();
    // Its process was killed before it wrote anything.
    if (info.st_size == 0) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const std::string text,
                            ReadAll(spool.fd.get(), path, kMaxSpoolBytes + kSpoolReserveBytes));
    batch_bytes_ += text.size();
    ATTUNE_ASSIGN_OR_RETURN(spool.content, ParseSpool(text));
    return ValidateTagging(spool.content.header.tag, {});
  }

  void Judge(const SpoolFolder& folder, OpenSpool& spool) {
    const SpoolContent& content = spool.content;
    const size_t before = import_.complaints.size();
    const std::string process =
        fmt::format("{} (process {})", Excerpt(content.header.program), content.header.process);
    if (content.damaged_bytes > 0) {
      Complain(fmt::format("{} bytes that {} recorded are lost: '{}' is damaged ({}).",
                           content.damaged_bytes, process, (folder.path / spool.name).string(),
                           content.damage));
    }
    // The command that counts them reports them.
    const bool is_counted = IsRunning(folder.fd.get(), content.header.run);
    for (const SpoolLoss& loss : content.losses) {
      if (is_counted) break;
      Complain(fmt::format("{} problems of {} were not recorded under tag {}: {}", loss.count,
                           process, Excerpt(content.header.tag), loss.reason));
    }
    if (import_.complaints.size() > before && !options_.is_told) spool.is_kept = true;
  }

  // Returns false if the database accepts no data now; the files stay.
  bool CommitBatch(const SpoolFolder& folder) {
    std::vector<OpenSpool> batch = std::exchange(batch_, {});
    batch_bytes_ = 0;
    if (batch.empty()) return true;
    std::map<std::string, std::vector<TaggedProblem>> by_tag;
    for (const OpenSpool& spool : batch) {
      if (spool.content.problems.empty()) continue;
      auto& problems = by_tag[spool.content.header.tag];
      for (const Problem& problem : spool.content.problems) problems.push_back({problem, 1});
    }
    const auto added = AddToDatabase(by_tag);
    if (!added.ok()) {
      Complain(fmt::format("Recorded problems wait in '{}': {}", folder.path.string(),
                           added.error().message()));
      return false;
    }
    if (options_.after_commit != nullptr) options_.after_commit();
    import_.new_problems += *added;
    for (const auto& [tag, problems] : by_tag) import_.problems += std::ssize(problems);
    for (const OpenSpool& spool : batch) Finish(folder, spool);
    return true;
  }

  Result<int64_t> AddToDatabase(const std::map<std::string, std::vector<TaggedProblem>>& by_tag) {
    int64_t new_count = 0;
    if (by_tag.empty()) return new_count;
    const auto add = [&](sql::DatabaseSession& session, sql::WriteTransaction& transaction) {
      new_count = 0;
      for (const auto& [tag, problems] : by_tag) {
        const auto added =
            sql::AddNewToList(transaction, session.problems, sql::TagLists(), tag, problems);
        if (!added.ok()) return added.error();
        new_count += *added;
      }
      return Status::Ok();
    };
    ATTUNE_RETURN_IF_ERROR(database_.Write(add));
    return new_count;
  }

  static void Finish(const SpoolFolder& folder, const OpenSpool& spool) {
    const int fd = folder.fd.get();
    if (!spool.is_kept) {
      const std::string run = RunOf(spool.name);
      const std::string stem = spool.name.substr(0, spool.name.size() - kSpoolSuffix.size());
      // The process may create another file of this name, which a later import reads.
      const std::string imported = fmt::format("{}-{}{}", stem, RandomWord(), kImportedSuffix);
      const bool is_counted = !run.empty() && IsRunning(fd, run) &&
                              ::renameat(fd, spool.name.c_str(), fd, imported.c_str()) == 0;
      // A file that cannot be removed is imported again, without effect.
      if (!is_counted) ::unlinkat(fd, spool.name.c_str(), 0);
    }
    ::flock(spool.fd.get(), LOCK_UN);
  }

  SqlDatabase& database_;
  const SpoolImportOptions& options_;
  const std::chrono::steady_clock::time_point deadline_;
  std::vector<OpenSpool> batch_;
  size_t batch_bytes_ = 0;
  SpoolImport import_;
};

}  // namespace

bool HasSpools(const std::filesystem::path& path) {
  std::string refused;
  return HasSpools(path, refused);
}

bool HasSpools(const std::filesystem::path& path, std::string& refused) {
  const SpoolPlace place = SpoolPlaceOf(path, /*makes_folders=*/false);
  const auto folders = OpenSpoolFolders(place.database, refused);
  return std::any_of(folders.begin(), folders.end(), [](const SpoolFolder& folder) {
    return CountNamesIn(folder.fd.get(), kSpoolSuffix, 1) > 0;
  });
}

SpoolImport ImportSpools(SqlDatabase& database, const std::filesystem::path& path,
                         const SpoolImportOptions& options) {
  std::string refused;
  const SpoolPlace place = SpoolPlaceOf(path, /*makes_folders=*/false);
  const auto folders = OpenSpoolFolders(place.database, refused);
  Importer importer(database, options);
  if (!refused.empty()) importer.Complain(std::move(refused));
  for (const SpoolFolder& folder : folders) importer.Import(folder);
  return std::move(importer).Take();
}

}  // namespace attune
