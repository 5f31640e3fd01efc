// Results files on disk: which results hold here, and how to add results without losing the
// existing content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/tunable/locked_file.h"
#include "attune/tunable/result_table.h"
#include "attune/tunable/untuned_file.h"
#include "attune/tunable/validators.h"

namespace attune {

// Limit for a file that serves a program and that any user may have written: 400,000 results.
inline constexpr size_t kLargestServedBytes = size_t{64} << 20;

// Outcome of reading a results file.
struct LoadReport {
  int64_t accepted = 0;    // Results that hold here.
  int64_t duplicates = 0;  // Results that were known already: the first wins.
  // Lines that are nothing known, and results that do not hold here. All of them stay in the file.
  std::vector<UnreadableLine> unreadable;
  std::vector<UnreadableLine> rejected;
  // Validators that differ, whether or not that mattered.
  std::vector<ValidatorVerdict> differences;
};

// Adds the results of `content` that hold here to `table`, and the reasons why others do not.
LoadReport LoadResults(std::string_view content, const TunableIdentity& here, ResultTable& table);

// Results with the validators under which they belong.
struct ResultGroup {
  std::vector<Validator> validators;
  std::vector<ResultLine> lines;
};

// Puts the lines of each group under a section with its validators, which is added if there is
// none: never under validators of another environment. `here` decides which sections equal one of
// this process. One append if nothing in between changes, else a rewrite by rename; either under
// the file's lock.
Status SaveResults(const std::filesystem::path& path, std::span<const ResultGroup> groups,
                   const TunableIdentity& here, Durability durability);

// Writes the union of several results files to each of `destinations`: sections with equal
// validators become one, the first of equal results wins, and lines that are no results are
// omitted. The first destination that cannot be written is the failure; the others are written.
Status MergeResultsFiles(std::span<const std::filesystem::path> sources,
                         std::span<const std::filesystem::path> destinations);

}  // namespace attune
