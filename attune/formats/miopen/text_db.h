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

// What both kinds of files ask of the keys that come one after the other.
class KeyWatch {
 public:
  explicit KeyWatch(Findings& findings) : findings_(findings) {}

  // A finding if the record stands behind one whose key comes after its own.
  void CheckOrder(const TextRecord& record);
  // False, and a finding, if a key was there before.
  bool IsNew(const TextRecord& record);

 private:
  Findings& findings_;
  std::string last_key_;
  std::unordered_set<std::string> seen_;
};

// A finding at `line` if MIOpen has no such solver for convolutions, or has it no more.
// `where` goes on behind its name: "of '<key>'".
void CheckSolver(std::string_view solver, uint64_t line, std::string_view where,
                 Findings& findings);

// Calls `visit` for every record of `content`, in order; the views are valid during the call, the
// record is. What MIOpen's own reader skips is skipped, and is a finding.
void ReadTextDb(std::string_view content, Findings& findings,
                const std::function<void(const TextRecord&)>& visit);

}  // namespace attune::miopen
