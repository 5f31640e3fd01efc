// Whole files of problems: MIOpenDriver commands, TunableOp CSVs and canonical texts in any
// mixture; or a list that attune has written, as JSON, CSV or a table. docs/formats/lists.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/problem/problem.h"

namespace attune {

struct RejectedLine {
  uint64_t line = 0;    // 1-based, every line of the file counted.
  uint64_t column = 0;  // 1-based, in bytes.
  std::string reason;   // A sentence; bytes of the file in it are escaped.

  friend bool operator==(const RejectedLine&, const RejectedLine&) = default;
};

struct ListedProblem {
  Problem problem;
  std::string text;    // Text(problem).
  Fingerprint key;     // KeyOf(problem).
  uint64_t count = 0;  // How often the file yields it, duplicates included: its weight.
  uint64_t line = 0;   // Line of its first occurrence.
  bool supported = true;
};

struct ProblemListOptions {
  // Replaces the batch size of every convolution and of operators with a batchsize; a gemm has
  // none.
  std::optional<int64_t> batch_size;
  // Returns true if any solver can compute the problem; default: every operator but OtherOp. Called
  // once for each distinct problem, when all are read.
  std::function<bool(const Problem&)> is_supported;
  // Calls a task with every number from 0 to below its first argument, possibly on several threads.
  // is_supported must then be thread-safe: it takes as long as reading. Without this function, one
  // thread.
  std::function<void(int64_t, const std::function<void(int64_t)>&)> for_each;
};

// read = imported + duplicates + rejected.size(), all counting lines; ignored lines are not read.
struct ProblemList {
  uint64_t read = 0;
  uint64_t imported = 0;                // Lines that yielded at least one new problem.
  uint64_t duplicates = 0;              // Lines that add no new problem.
  uint64_t unsupported = 0;             // Imported lines with a problem that is not supported.
  std::vector<ListedProblem> problems;  // Distinct, in order of appearance.
  std::vector<RejectedLine> rejected;   // In order.
};

// Never fails as a whole: unreadable lines are in `rejected`. Takes \n and \r\n, a missing last
// line end, a UTF-8 byte-order mark, and any bytes.
ProblemList ReadProblemList(std::string_view content, const ProblemListOptions& options = {});

}  // namespace attune
