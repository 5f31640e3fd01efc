// The kernel cache in a folder. docs/formats/kernel_cache.md is the layout of an entry.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/open_file.h"
#include "attune/compile/kernel_cache.h"
#include "attune/compile/kernel_entry.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryMark = ".kernel.tmp.";
// A writer needs milliseconds; older files belong to a process that died.
constexpr auto kTemporaryLifetime = std::chrono::hours(1);
// Each recipe has a byte of it, which is locked while the recipe is compiled.
constexpr std::string_view kTurnsFile = "turns";
// Compiling takes tenths of a second and more.
constexpr std::chrono::milliseconds kTurnPoll{2};

struct EntryFile {
  fs::path path;
  fs::file_time_type used_at;
  int64_t size_bytes = 0;
};

// Entries of `folder`; deletes temporary files of dead writers.
std::vector<EntryFile> ListEntries(const fs::path& folder) {
  std::vector<EntryFile> entries;
  std::error_code error;
  const auto stale_before = fs::file_time_type::clock::now() - kTemporaryLifetime;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const auto used_at = it->last_write_time(gone);
    const auto size_bytes = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    const std::string name = it->path().filename().string();
    if (name.ends_with(kKernelSuffix)) {
      entries.push_back({it->path(), used_at, static_cast<int64_t>(size_bytes)});
    } else if (name.find(kTemporaryMark) != std::string::npos && used_at < stale_before) {
      fs::remove(it->path(), gone);
    }
  }
  return entries;
}

// `step` is the remedy for the user, other than to name another folder.
Status CannotUse(const fs::path& folder, std::string_view reason, std::string_view step) {
  return Unavailable(
      fmt::format("Cannot use '{}' as the folder of the kernel cache: {}; {}, or name another.",
                  folder.string(), reason, step));
}

// The remedy for a failed write, so that compiled code is kept.
std::string_view StepAfter(StatusCode code) {
  switch (code) {
    case StatusCode::kResourceExhausted:
      return "Make room there: its entries, which are files *.kernel, may all be deleted.";
    case StatusCode::kNotFound:
      return "Start this program again, which makes the folder anew.";
    default:
      return "Make the folder and what is in it writable to this user.";
  }
}

// Mode 0700 from the start: permissions that are taken away later leave a window for others.
Status MakePrivateFolder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return Status::Ok();
  std::error_code error(errno, std::generic_category());
  if (error == std::errc::no_such_file_or_directory && folder.has_relative_path()) {
    fs::create_directories(folder.parent_path(), error);
    if (!error && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      error.assign(errno, std::generic_category());
    }
  }
  if (!error) return Status::Ok();
  return CannotUse(folder, fmt::format("it cannot be made ({})", error.message()),
                   "make it, with a mode of 0700");
}

// Code out of the folder is executed with this user's rights, so no other user may write into it. A
// link is refused too, because its target could be exchanged after the check.
Status CheckNobodyElseWrites(const fs::path& folder) {
  struct stat attributes {};
  if (::lstat(folder.c_str(), &attributes) != 0) {
    return CannotUse(
        folder, fmt::format("it cannot be examined ({})", std::generic_category().message(errno)),
        "let this user pass through the folders above it");
  }
  if (S_ISLNK(attributes.st_mode)) {
    return CannotUse(folder, "it is a symbolic link, whose target could be exchanged",
                     "put the folder itself there");
  }
  if (!S_ISDIR(attributes.st_mode)) {
    return CannotUse(folder, "it is not a folder", "put one in its place");
  }
  if (attributes.st_uid != ::geteuid()) {
    return CannotUse(folder,
                     fmt::format("it belongs to user {} and this process runs as user {}",
                                 attributes.st_uid, ::geteuid()),
                     "move it away, so that one of this user's is made");
  }
  const unsigned mode = attributes.st_mode & 0777;
  if ((mode & 0022) == 0) return Status::Ok();
  return CannotUse(
      folder,
      fmt::format("its mode {:04o} lets others write code into it that would be executed here",
                  mode),
      "delete what is not yours in it and run chmod go-w on it");
}

}  // namespace

FolderKernelCache::FolderKernelCache(fs::path folder, FolderKernelCacheOptions options)
    : folder_(std::move(folder)), options_(options) {}

Result<std::unique_ptr<FolderKernelCache>> FolderKernelCache::Open(
    const fs::path& named, FolderKernelCacheOptions options) {
  const fs::path folder = WithoutTrailingSlash(named);
  if (options.limit_bytes <= 0) {
    return InvalidArgument(fmt::format(
        "The limit of the kernel cache in '{}' is {} bytes and must be positive. Leave it out, "
        "which means {}.",
        folder.string(), options.limit_bytes, FolderKernelCacheOptions().limit_bytes));
  }
  ATTUNE_RETURN_IF_ERROR(MakePrivateFolder(folder));
  ATTUNE_RETURN_IF_ERROR(CheckNobodyElseWrites(folder));
  return std::unique_ptr<FolderKernelCache>(new FolderKernelCache(folder, options));
}

std::string KernelFileName(const BuildRecipe& recipe) {
  return fmt::format("{}{}", KernelCacheKey(recipe).ToHex(), kKernelSuffix);
}

fs::path FolderKernelCache::PathOf(const BuildRecipe& recipe) const {
  return folder_ / KernelFileName(recipe);
}

std::optional<Artifact> FolderKernelCache::Find(const BuildRecipe& recipe) {
  const Fingerprint key = KernelCacheKey(recipe);
  const fs::path path = PathOf(recipe);
  Result<std::string> content = ReadFileAtOnce(path);
  std::optional<std::string> payload;
  if (content.ok()) payload = DecodeKernelEntry(key, *std::move(content));
  const bool corrupt = content.ok() && !payload;
  if (payload) {
    // The time of last use, which eviction goes by. Failing to note it only makes the entry look
    // older.
    static_cast<void>(::utimensat(AT_FDCWD, path.c_str(), nullptr, 0));
  } else if (corrupt) {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  const std::lock_guard lock(mutex_);
  ++(payload ? counters_.hits : counters_.misses);
  if (corrupt) ++counters_.corrupt;
  if (!payload) return std::nullopt;
  return Artifact{*std::move(payload)};
}

Status FolderKernelCache::Store(const BuildRecipe& recipe, const Artifact& artifact) {
  if (artifact.bytes.size() > static_cast<size_t>(kMaxArtifactBytes)) {
    return ResourceExhausted(fmt::format(
        "What was compiled has {} bytes; the kernel cache takes at most {} for one entry. It can "
        "be used, and every process compiles it again: unroll less to have it kept.",
        artifact.bytes.size(), kMaxArtifactBytes));
  }
  const Fingerprint key = KernelCacheKey(recipe);
  const std::lock_guard write_lock(write_mutex_);
  const Status written =
      WriteFileAtomically(PathOf(recipe), EncodeKernelHeader(key, artifact.bytes) + artifact.bytes);
  if (!written.ok()) {
    return Status(written.code(),
                  fmt::format("What was compiled is not kept in the kernel cache. {} {}",
                              written.message(), StepAfter(written.code())));
  }
  {
    const std::lock_guard lock(mutex_);
    ++counters_.stores;
  }
  bytes_since_sweep_ += static_cast<int64_t>(artifact.bytes.size());
  if (key.low % kStoresPerSweep == 0 || bytes_since_sweep_ > options_.limit_bytes / 10) {
    bytes_since_sweep_ = 0;
    Sweep();
  }
  return Status::Ok();
}

BuildTurn FolderKernelCache::AwaitTurn(const BuildRecipe& recipe) {
  const auto deadline = std::chrono::steady_clock::now() + options_.longest_turn;
  const fs::path path = folder_ / kTurnsFile;
  // A description of its own for each turn: locks of one description do not exclude each other.
  UniqueFd file = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(KernelCacheKey(recipe).high >> 2);
  lock.l_len = 1;
  while (file.valid() && ::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    const bool is_taken = errno == EAGAIN || errno == EACCES;
    if (!is_taken || std::chrono::steady_clock::now() > deadline) return {};
    std::this_thread::sleep_for(kTurnPoll);
  }
  return {std::move(file), ::access(PathOf(recipe).c_str(), F_OK) == 0};
}

void FolderKernelCache::Sweep() {
  std::vector<EntryFile> entries = ListEntries(folder_);
  int64_t total_bytes = 0;
  for (const EntryFile& entry : entries) total_bytes += entry.size_bytes;
  if (total_bytes <= options_.limit_bytes) return;
  std::sort(entries.begin(), entries.end(),
            [](const EntryFile& a, const EntryFile& b) { return a.used_at < b.used_at; });
  const auto target_bytes =
      static_cast<int64_t>(static_cast<double>(options_.limit_bytes) * kSweepTarget);
  int64_t evicted = 0;
  for (const EntryFile& entry : entries) {
    if (total_bytes <= target_bytes) break;
    std::error_code error;
    if (fs::remove(entry.path, error)) ++evicted;
    total_bytes -= entry.size_bytes;
  }
  const std::lock_guard lock(mutex_);
  counters_.evictions += evicted;
}

KernelCacheCounters FolderKernelCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace attune
