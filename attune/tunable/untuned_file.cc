#include "attune/tunable/untuned_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/problem/text_error.h"
#include "attune/tunable/blas_params.h"

namespace attune {
namespace {

// For the lock in the destructor, after which nothing tries again.
constexpr int64_t kLastWaitMs = 1000;

// The text that is equal for two lines of one problem.
std::string IdentityOf(const Problem& problem) { return Text(problem); }

std::string_view NextLine(std::string_view& content) {
  const size_t end = content.find('\n');
  std::string_view line = content.substr(0, end);
  content = end == std::string_view::npos ? std::string_view() : content.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool IsIgnored(std::string_view line) {
  return line.empty() || line.starts_with('#') || IsTunableOpValidator(line);
}

}  // namespace

std::string UntunedLine(const Problem& problem, bool with_blas_params) {
  const TunableOpKey key = NamesOf(problem);
  std::string line = fmt::format("{},{}", key.op, key.params);
  if (with_blas_params) {
    const std::string params = BlasParams(problem);
    if (!params.empty()) line += fmt::format(",BLAS_PARAMS: {}", params);
  }
  if (!SaysEverything(key, problem)) line += ProblemColumnOf(problem);
  return line;
}

Result<UntunedProblem> ParseUntunedLine(std::string_view line) {
  auto untuned = ReadTunableLine(line);
  if (!untuned) return ToStatus(untuned.error());
  if (IsTunableOpLine(untuned->key.op) && IsWildcard(untuned->key.params)) {
    return InvalidArgument(
        "A wildcard stands for many problems; only concrete sizes can be tuned.");
  }
  return *std::move(untuned);
}

std::string IdentityOf(const UntunedProblem& untuned) {
  return fmt::format("{},{},{}", untuned.key.op, untuned.key.params, Text(untuned.problem));
}

UntunedList ParseUntunedFile(std::string_view content) {
  UntunedList list;
  std::unordered_set<std::string> seen;
  for (int64_t number = 1; !content.empty(); ++number) {
    const std::string_view line = NextLine(content);
    if (IsIgnored(line)) continue;
    auto untuned = ParseUntunedLine(line);
    const size_t comma = std::min(line.find(','), line.size());
    if (!untuned.ok() && IsTunableOpLine(line) &&
        IsWildcard(line.substr(comma, line.find(',', comma + 1) - comma))) {
      ++list.wildcards;
    } else if (!untuned.ok()) {
      list.unreadable.push_back({number, untuned.error().message()});
    } else if (seen.insert(IdentityOf(*untuned)).second) {
      list.problems.push_back(*std::move(untuned));
    }
  }
  return list;
}

Status UntunedFile::ReadNewLines(const LockedFile& file) {
  const int64_t size = file.size_bytes();
  if (file.inode() == inode_ && size == known_bytes_) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, file.Read());
  // A file that was replaced or cut is read from its start; keys recorded before stay known.
  const bool grew = file.inode() == inode_ && size > known_bytes_;
  std::string_view added = content;
  if (grew) added.remove_prefix(static_cast<size_t>(known_bytes_));
  for (const UntunedProblem& untuned : ParseUntunedFile(added).problems) {
    if (keys_.size() < kMaxKeys) keys_.insert(IdentityOf(untuned.problem));
  }
  inode_ = file.inode();
  known_bytes_ = size;
  return Status::Ok();
}

UntunedFile::~UntunedFile() {
  // Callers that want to know of a failure have called WriteWaiting.
  (void)WriteWaiting(kLastWaitMs);
}

Result<int64_t> UntunedFile::Record(const Problem& problem, bool with_blas_params,
                                    int64_t lock_timeout_ms) {
  std::string identity = IdentityOf(problem);
  const std::lock_guard lock(mutex_);
  if (keys_.contains(identity)) return 0;
  if (keys_.size() >= kMaxKeys) {
    return ResourceExhausted(
        fmt::format("'{}' already has {} problems, the most that are recorded; tune what is there.",
                    path_.string(), kMaxKeys));
  }
  const bool waits = std::ranges::find(waiting_, identity, &Line::identity) != waiting_.end();
  if (!waits && waiting_.size() >= kMaxWaiting) {
    return ResourceExhausted(
        fmt::format("{} problems wait to be recorded in '{}', the most that may; make it writable.",
                    kMaxWaiting, path_.string()));
  }
  if (!waits) waiting_.push_back({std::move(identity), UntunedLine(problem, with_blas_params)});
  return Write(lock_timeout_ms);
}

Result<int64_t> UntunedFile::WriteWaiting(int64_t lock_timeout_ms) {
  const std::lock_guard lock(mutex_);
  return Write(lock_timeout_ms);
}

Result<int64_t> UntunedFile::Write(int64_t lock_timeout_ms) {
  if (waiting_.empty()) return 0;
  ATTUNE_ASSIGN_OR_RETURN(LockedFile file, LockedFile::Open(path_, lock_timeout_ms));
  ATTUNE_RETURN_IF_ERROR(ReadNewLines(file));
  std::erase_if(waiting_, [&](const Line& line) { return keys_.contains(line.identity); });
  std::string lines;
  for (const Line& line : waiting_) lines += line.text + "\n";
  if (!lines.empty()) ATTUNE_RETURN_IF_ERROR(file.Append(lines, Durability::kProcessCrash));
  for (Line& line : waiting_) keys_.insert(std::move(line.identity));
  const auto written = static_cast<int64_t>(waiting_.size());
  waiting_.clear();
  known_bytes_ = file.size_bytes();
  return written;
}

}  // namespace attune
