// The file of problems that were missed: each once, whatever many threads and processes miss.
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
#include "attune/formats/tunableop.h"
#include "attune/problem/problem.h"

namespace attune {

class LockedFile;

// `op,params[,BLAS_PARAMS: ...][,ATTUNE_PROBLEM: ...]`, without its end. The problem text is there
// if the names do not say all.
std::string UntunedLine(const Problem& problem, bool with_blas_params);

// One line of an untuned file, or of a results file, whose further columns do not matter.
struct UntunedProblem {
  TunableOpKey key;  // As the line has it.
  Problem problem;
};
Result<UntunedProblem> ParseUntunedLine(std::string_view line);

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
  // Keys of this process at most; what comes after is refused.
  static constexpr size_t kMaxKeys = size_t{1} << 20;

  explicit UntunedFile(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

  // Appends the line of `problem` unless this process or the file has it; true if it was appended.
  // It survives the death of the process, not that of the machine: waiting for the disk would stall
  // the caller.
  Result<bool> Record(const Problem& problem, bool with_blas_params);

 private:
  // Takes up what others appended since the last look.
  Status ReadNewLines(const LockedFile& file);

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::unordered_set<std::string> keys_;
  ino_t inode_ = 0;
  int64_t known_bytes_ = 0;
};

}  // namespace attune
