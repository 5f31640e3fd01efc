// The text record that find-dbs and perf-dbs share: `KEY=ID:VALUES;ID:VALUES`, one on a line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "attune/formats/miopen/finding.h"

namespace attune::miopen {

// Longer than any record that MIOpen can have written: some hundred solvers of some kilobytes.
inline constexpr size_t kMaxRecordBytes = size_t{1} << 20;

struct TextItem {
  std::string_view id;
  std::string_view values;
};

struct TextRecord {
  std::string_view key;
  std::vector<TextItem> items;  // At least one.
  uint64_t line = 0;            // 1-based.
};

// Checks shared by both kinds of files: consecutive keys.
class KeyWatch {
 public:
  explicit KeyWatch(Findings& findings) : findings_(findings) {}

  // Adds a finding if the record follows one with a greater key.
  void CheckOrder(const TextRecord& record);
  // False, and a finding, if a key was there before.
  bool IsNew(const TextRecord& record);

 private:
  Findings& findings_;
  std::string last_key_;
  std::unordered_set<std::string> seen_;
};

// Adds a finding at `line` if MIOpen has no such solver for convolutions, or has it no more.
// `where` follows its name: "of '<key>'".
void CheckSolver(std::string_view solver, uint64_t line, std::string_view where,
                 Findings& findings);

// Calls `visit` for every record of `content`, in order; the views and the record are valid during
// the call. Lines that MIOpen's own reader skips are skipped, with a finding.
void ReadTextDb(std::string_view content, Findings& findings,
                const std::function<void(const TextRecord&)>& visit);

}  // namespace attune::miopen
