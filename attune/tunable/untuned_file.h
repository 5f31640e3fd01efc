// The file of missed problems: each once, for any number of threads and processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/tunable_names.h"
#include "attune/problem/problem.h"
#include "attune/tunable/locked_file.h"

namespace attune {

// `op,params[,BLAS_PARAMS: ...][,ATTUNE_PROBLEM: ...]`, without its end. The problem text is
// present if the names do not define the problem.
std::string UntunedLine(const Problem& problem, bool with_blas_params);

using UntunedProblem = NamedProblem;
// One line of an untuned file, or of a results file; a wildcard names nothing to tune.
Result<UntunedProblem> ParseUntunedLine(std::string_view line);
// Equal for lines that ask for the same result: names and problem.
std::string IdentityOf(const UntunedProblem& untuned);

// A line that is no problem.
struct UnreadableLine {
  int64_t line = 0;  // From 1.
  std::string reason;
};
struct UntunedList {
  std::vector<UntunedProblem> problems;  // Each key once, in order.
  std::vector<UnreadableLine> unreadable;
  int64_t wildcards = 0;  // Lines with dynamic sizes, which name no problem to tune.
};
UntunedList ParseUntunedFile(std::string_view content);

// Thread-safe.
class UntunedFile {
 public:
  // Maximum number of keys of this process; further ones are refused.
  static constexpr size_t kMaxKeys = size_t{1} << 20;

  explicit UntunedFile(std::filesystem::path path) : path_(std::move(path)) {}
  // Tries once more to write waiting lines.
  ~UntunedFile();
  UntunedFile(const UntunedFile&) = delete;
  UntunedFile& operator=(const UntunedFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

  // Appends the line of `problem` unless this process or the file has it, and lines that wait
  // before it; how many they are. It survives the death of the process, not that of the machine:
  // waiting for the disk would stall the caller. kDeadlineExceeded if another process holds the
  // file that long, anything else if it cannot be written; the line waits, then, for the next one
  // or for WriteWaiting. kResourceExhausted if kMaxWaiting lines do, or there are kMaxKeys: it is
  // lost.
  Result<int64_t> Record(const Problem& problem, bool with_blas_params,
                         int64_t lock_timeout_ms = LockedFile::kDefaultTimeoutMs);
  // Appends waiting lines; returns how many.
  Result<int64_t> WriteWaiting(int64_t lock_timeout_ms);
  static constexpr size_t kMaxWaiting = 4096;

 private:
  // REQUIRES: mutex_ is held.
  Result<int64_t> Write(int64_t lock_timeout_ms);
  // Reads lines that other processes appended since the last read.
  Status ReadNewLines(const LockedFile& file);

  const std::filesystem::path path_;
  std::mutex mutex_;                      // Guards the rest.
  std::unordered_set<std::string> keys_;  // Keys in the file, as far as it was read.
  struct Line {
    std::string identity;
    std::string text;
  };
  std::vector<Line> waiting_;
  ino_t inode_ = 0;
  int64_t known_bytes_ = 0;
};

}  // namespace attune
