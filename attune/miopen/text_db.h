// The text record that find-dbs and perf-dbs share: `KEY=ID:VALUES;ID:VALUES`, one on a line.
// Private to this module.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "attune/miopen/finding.h"

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

// Calls `visit` for every record of `content`, in order; the views are valid during the call, the
// record is. What MIOpen's own reader skips is skipped, and is a finding.
void ReadTextDb(std::string_view content, Findings& findings,
                const std::function<void(const TextRecord&)>& visit);

}  // namespace attune::miopen
