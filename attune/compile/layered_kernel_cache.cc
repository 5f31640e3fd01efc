#include "attune/compile/layered_kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"
#include "attune/compile/kernel_entry.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMissLasts{1};
constexpr size_t kMostMissed = 4096;

// Why code in the open file or folder `fd` may be another user's, and the remedy; empty if it is
// not. REQUIRES: no link was followed to open it.
std::string Distrust(int fd, mode_t type) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return fmt::format("it cannot be examined ({}); try again",
                       std::generic_category().message(errno));
  }
  if ((info.st_mode & S_IFMT) != type) {
    return fmt::format("it is no {}; put one in its place", type == S_IFDIR ? "folder" : "file");
  }
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return fmt::format(
        "it belongs to user {}, and this process runs as user {}; have it installed by the "
        "superuser or by this user",
        info.st_uid, ::geteuid());
  }
  if ((info.st_mode & 0022) == 0) return "";
  return fmt::format("its mode {:04o} lets others write code into it; run chmod go-w on it",
                     info.st_mode & 0777u);
}

// As Distrust, for a folder that is not open yet.
std::string DistrustFolder(const std::filesystem::path& folder) {
  const UniqueFd fd = OpenFile(folder, O_PATH | O_NOFOLLOW);
  if (!fd.valid()) {
    return fmt::format("it cannot be opened ({}); make it readable to this user",
                       std::generic_category().message(errno));
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISLNK(info.st_mode)) {
    return "it is a link, whose target could be exchanged; put the folder itself there";
  }
  return Distrust(fd.get(), S_IFDIR);
}

// The content of a file that no other user could have written. Examined and read through one
// descriptor: the file behind a name could be exchanged between the two.
Result<std::string> ReadTrusted(const std::filesystem::path& path) {
  const UniqueFd fd = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.valid()) return SystemError("open", path);
  if (std::string reason = Distrust(fd.get(), S_IFREG); !reason.empty()) {
    return Unavailable(std::move(reason));
  }
  return ReadAll(fd.get(), path);
}

}  // namespace

Result<std::unique_ptr<PackagedKernels>> PackagedKernels::Open(const std::filesystem::path& named,
                                                               EntryCheck check) {
  const std::filesystem::path folder = WithoutTrailingSlash(named);
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return NotFound(fmt::format("There is no folder '{}'.", folder.string()));
  }
  const std::string reason = DistrustFolder(folder);
  if (reason.empty()) {
    return std::unique_ptr<PackagedKernels>(new PackagedKernels(folder, std::move(check)));
  }
  return Unavailable(fmt::format("The kernels in '{}' are not used: {}.", folder.string(), reason));
}

std::optional<Artifact> PackagedKernels::Find(const BuildRecipe& recipe) {
  const Fingerprint key = KernelCacheKey(recipe);
  const std::string name = key.ToHex() + std::string(kKernelSuffix);
  Result<std::string> content = ReadTrusted(folder_ / name);
  std::optional<std::string> payload;
  if (content.ok() && check_(name, *content)) payload = DecodeKernelEntry(key, *std::move(content));
  const std::lock_guard lock(mutex_);
  ++(payload ? counters_.hits : counters_.misses);
  if (content.ok() && !payload) ++counters_.corrupt;
  if (!payload) return std::nullopt;
  return Artifact{*std::move(payload)};
}

Status PackagedKernels::Store(const BuildRecipe&, const Artifact&) {
  return FailedPrecondition(
      fmt::format("The package in '{}' is only read.", folder_.parent_path().string()));
}

KernelCacheCounters PackagedKernels::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

LayeredKernelCache::LayeredKernelCache(std::unique_ptr<KernelCache> own,
                                       std::vector<std::unique_ptr<KernelCache>> packages)
    : own_(std::move(own)), packages_(std::move(packages)) {}

std::optional<Artifact> LayeredKernelCache::Find(const BuildRecipe& recipe) {
  if (auto found = own_->Find(recipe)) return found;
  for (const auto& package : packages_) {
    if (auto found = package->Find(recipe)) return found;
  }
  return std::nullopt;
}

Status LayeredKernelCache::Store(const BuildRecipe& recipe, const Artifact& artifact) {
  return own_->Store(recipe, artifact);
}

KernelCacheCounters LayeredKernelCache::counters() const {
  KernelCacheCounters counters = own_->counters();
  for (const auto& package : packages_) {
    const int64_t hits = package->counters().hits;
    counters.hits += hits;
    counters.misses -= hits;
    counters.corrupt += package->counters().corrupt;
  }
  return counters;
}

const Artifact* RecentKernelCache::Load(const BuildRecipe& recipe,
                                        std::unique_lock<std::mutex>& lock) {
  const Fingerprint key = KernelCacheKey(recipe);
  const auto place = places_.find(key);
  if (place != places_.end()) {
    ++hits_;
    entries_.splice(entries_.begin(), entries_, place->second);
    return &place->second->second;
  }
  const auto missed = missed_.find(key);
  if (missed != missed_.end() && Clock::now() < missed->second) return nullptr;
  lock.unlock();
  std::optional<Artifact> found = cache_->Find(recipe);
  lock.lock();
  if (found.has_value()) return &Keep(key, *std::move(found));
  if (missed_.size() >= kMostMissed) missed_.clear();
  missed_[key] = Clock::now() + kMissLasts;
  return nullptr;
}

std::optional<Artifact> RecentKernelCache::Find(const BuildRecipe& recipe) {
  std::unique_lock lock(mutex_);
  const Artifact* const found = Load(recipe, lock);
  return found == nullptr ? std::nullopt : std::optional<Artifact>(*found);
}

bool RecentKernelCache::Has(const BuildRecipe& recipe) {
  std::unique_lock lock(mutex_);
  return Load(recipe, lock) != nullptr;
}

Status RecentKernelCache::Store(const BuildRecipe& recipe, const Artifact& artifact) {
  {
    const std::lock_guard lock(mutex_);
    Keep(KernelCacheKey(recipe), artifact);
  }
  return cache_->Store(recipe, artifact);
}

BuildTurn RecentKernelCache::AwaitTurn(const BuildRecipe& recipe) {
  BuildTurn turn = cache_->AwaitTurn(recipe);
  const std::lock_guard lock(mutex_);
  missed_.erase(KernelCacheKey(recipe));
  return turn;
}

KernelCacheCounters RecentKernelCache::counters() const {
  KernelCacheCounters counters = cache_->counters();
  const std::lock_guard lock(mutex_);
  counters.hits += hits_;
  return counters;
}

const Artifact& RecentKernelCache::Keep(const Fingerprint& key, Artifact artifact) {
  if (const auto place = places_.find(key); place != places_.end()) {
    size_bytes_ -= place->second->second.bytes.size();
    entries_.erase(place->second);
    places_.erase(place);
  }
  missed_.erase(key);
  size_bytes_ += artifact.bytes.size();
  entries_.emplace_front(key, std::move(artifact));
  places_.emplace(key, entries_.begin());
  while (size_bytes_ > limit_bytes_ && entries_.size() > 1) {
    size_bytes_ -= entries_.back().second.bytes.size();
    places_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return entries_.front().second;
}

}  // namespace attune
