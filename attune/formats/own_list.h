// Lists of problems in the forms that attune itself prints and exports: JSON, CSV and a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

struct OwnListEntry {
  std::string problem;
  uint64_t weight = 1;
  uint64_t line = 1;    // Position in the text; both from 1.
  uint64_t column = 1;  // Position of a fault.
  std::string fault;    // Why the entry has no problem; empty if it has one.
};

// The entries of such a list; nothing if the text is another one:
//   JSON that is an array of objects with "problem" and perhaps "weight" (`attune problems --json`,
//   `attune best --json`), or an object with such an array as "choices" (`attune export --format
//   json`); CSV whose first column is "problem" (`attune export --format csv`); the table of
//   `attune problems`.
std::optional<std::vector<OwnListEntry>> ReadOwnList(std::string_view text);

}  // namespace attune
